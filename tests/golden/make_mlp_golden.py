"""Writes mlp_golden.hpp: what torch computes in ten steps of training three small networks.

Everything starts from one formula that C++ repeats to the last bit, so the header holds results only.
Run it with Debian's python3-torch: /usr/bin/python3 tests/golden/make_mlp_golden.py
"""

import pathlib

import torch
from torch.nn.functional import conv2d, cross_entropy, linear, max_pool2d

STEPS = 10

HEADER = """\
// Made by tests/golden/make_mlp_golden.py with torch {version} on the CPU: do not edit.
//
// Float32, one thread, deterministic algorithms, no oneDNN. Every initial parameter and input is an array
// in glia's layout (row-major: kernels (I, O) and HWIO, images NHWC) with element i = formula(i, offset).
// All steps see the one batch; sample i has the label i % 3; the loss is the mean softmax cross-entropy,
// taken before the step. Losses are of the ten steps, parameters are as they stand after the tenth.
//
// mlp_*:   batch 8 of 6 (offset {mlp_input}); dense 6-5 relu, dense 5-4 tanh, dense 4-3.
//          Offsets: {mlp_offsets}.
// conv_*:  batch 4 of 7x6x2 (offset {conv_input}); conv of 3 filters 3x3, stride 2, padding 1 on all sides, relu
//          (giving 4x3x3); max pool 2x2, stride 2, no padding (giving 2x1x3); flatten; dense 6-3.
//          Offsets: {conv_offsets}.
// *_adam:  rate 1e-2, betas 0.9 and 0.999, epsilon 1e-7 added to sqrt(variance / (1 - 0.999^t)), no decay.
// *_sgd:   rate 0.1, momentum 0.9, Nesterov, no decay.
//
// The same in float64 differs by at most {drift:.1e} in any of these numbers, and no relu's input comes nearer
// to zero than {margin:.1e}, nor two values of a pool's window nearer to each other: a float32 library
// that adds in another order can match to about 1e-5.
#pragma once

#include <array>
#include <cstddef>

namespace glia_golden {{

// In double, then rounded once.
constexpr float formula(std::size_t i, std::size_t offset) {{
    return static_cast<float>(static_cast<double>((i * i * 61 + i * 7919 + offset) % 1000) / 1000.0 - 0.5);
}}

"""


def formula(offset, *shape):
    # The square keeps rows from repeating each other. The offsets below were searched for: every relu
    # unit is on for some samples and off for others, and no step comes near a kink.
    count = torch.Size(shape).numel()
    values = [((i * i * 61 + i * 7919 + offset) % 1000) / 1000.0 - 0.5 for i in range(count)]
    # Rounded to float32 here, so that the float64 run starts from the same numbers.
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


class margins:
    """The nearest that any step comes to a kink, where rounding could choose another gradient."""

    def __init__(self):
        self.nearest = float("inf")

    def relu(self, x):
        self.nearest = min(self.nearest, x.detach().abs().min().item())
        return torch.relu(x)

    def max_pool(self, x):
        windows = x.detach().unfold(2, 2, 2).unfold(3, 2, 2).flatten(4).sort(-1, descending=True).values
        live = windows[..., 0] > 0  # a window of zeros has no gradient behind it
        if live.any():
            self.nearest = min(self.nearest, (windows[..., 0] - windows[..., 1])[live].min().item())
        return max_pool2d(x, 2, 2)


# Parameters are kept in glia's layout and turned inside the graph, so that the optimizer sees them as
# glia's does and they come out as glia keeps them. Each is (offset, shape).
MLP_INPUT = (839, (8, 6))
MLP = {"kernel_0": (263, (6, 5)), "bias_0": (211, (5,)),
       "kernel_1": (757, (5, 4)), "bias_1": (211, (4,)),
       "kernel_2": (149, (4, 3)), "bias_2": (113, (3,))}


def mlp(p, x, kinks):
    x = kinks.relu(linear(x, p["kernel_0"].t(), p["bias_0"]))
    x = torch.tanh(linear(x, p["kernel_1"].t(), p["bias_1"]))
    return linear(x, p["kernel_2"].t(), p["bias_2"])


CONV_INPUT = (641, (4, 7, 6, 2))
CONV = {"conv_kernel": (103, (3, 3, 2, 3)), "conv_bias": (491, (3,)),
        "dense_kernel": (31, (6, 3)), "dense_bias": (347, (3,))}


def conv(p, x, kinks):
    x = x.permute(0, 3, 1, 2)
    x = kinks.relu(conv2d(x, p["conv_kernel"].permute(3, 2, 0, 1), p["conv_bias"], stride=2, padding=1))
    x = kinks.max_pool(x).permute(0, 2, 3, 1).flatten(1)
    return linear(x, p["dense_kernel"].t(), p["dense_bias"])


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-2, betas=(0.9, 0.999), eps=1e-7)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True)


def train(network, sources, batch, make_optimizer, dtype, kinks):
    """The losses and the trained parameters, by name."""
    parameters = {name: formula(offset, *shape).to(dtype).requires_grad_()
                  for name, (offset, shape) in sources.items()}
    inputs = formula(batch[0], *batch[1]).to(dtype)
    labels = torch.arange(len(inputs)) % 3
    optimizer = make_optimizer(parameters.values())
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = cross_entropy(network(parameters, inputs, kinks), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), **{name: p.detach() for name, p in parameters.items()}}


def literal(value):
    text = f"{value:.9g}"  # nine digits give a float32 back exactly
    return text + ("f" if "." in text or "e" in text else ".0f")


def array(name, values):
    texts = [literal(v) for v in values.flatten().tolist()]
    rows = [", ".join(texts[i:i + 6]) for i in range(0, len(texts), 6)]
    body = ",\n    ".join(rows)
    return f"inline constexpr std::array<float, {len(texts)}> {name}{{\n    {body}}};\n"


def offsets(sources):
    return ", ".join(f"{name} {offset}" for name, (offset, _) in sources.items())


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    cases = {"mlp_adam": (mlp, MLP, MLP_INPUT, adam), "mlp_sgd": (mlp, MLP, MLP_INPUT, sgd),
             "conv_adam": (conv, CONV, CONV_INPUT, adam)}
    kinks = margins()
    arrays, drift = [], 0.0
    with torch.backends.mkldnn.flags(enabled=False):
        for case, made_of in cases.items():
            single = train(*made_of, torch.float32, kinks)
            double = train(*made_of, torch.float64, kinks)
            for name, values in single.items():
                drift = max(drift, (values.double() - double[name]).abs().max().item())
                arrays.append(array(f"{case}_{name}", values))
    header = HEADER.format(version=torch.__version__, drift=drift, margin=kinks.nearest,
                           mlp_input=MLP_INPUT[0], mlp_offsets=offsets(MLP),
                           conv_input=CONV_INPUT[0], conv_offsets=offsets(CONV))
    path = pathlib.Path(__file__).with_name("mlp_golden.hpp")
    path.write_text(header + "\n".join(arrays) + "\n}  // namespace glia_golden\n")
    print(f"wrote {path.name}: float64 differs by at most {drift:.1e}, kinks at least {kinks.nearest:.1e} away")


main()
