"""Writes layers_golden.hpp: what torch gives for layers whose sums nobody wants to do by hand.

Inputs and parameters come from one formula that C++ repeats to the last bit, so the header holds results only.
Run it with Debian's python3-torch: /usr/bin/python3 tests/golden/make_layers_golden.py, then clang-format -i.
"""

import pathlib

import torch
from torch.nn import functional

HEADER = """\
// Made by tests/golden/make_layers_golden.py with torch {version} in float64: do not edit.
//
// Inputs and parameters are those that tests/layers/golden_test.cpp makes of `formula`, in glia's layouts.
#pragma once

#include <array>

namespace glia_golden {{

"""


def formula(offset, *shape):
    count = torch.Size(shape).numel()
    values = [((i * i * 61 + i * 7919 + offset) % 1000) / 1000.0 - 0.5 for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).float().double().reshape(shape)


def sequence_convolution(x, kernel, bias, begin, end, **options):
    x = functional.pad(x.permute(0, 2, 1), (begin, end))
    return functional.conv1d(x, kernel.permute(2, 1, 0), bias, **options).permute(0, 2, 1)


def transposed(x, kernel, bias, **options):
    """x (N, H, W, C), kernel (height, width, O, C)."""
    y = functional.conv_transpose2d(x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1), bias, **options)
    return y.permute(0, 2, 3, 1)


def transposed_same(x, kernel, bias, stride):
    """As Keras crops it: to the input's size times the stride, the odd row or column at the end."""
    y = transposed(x, kernel, bias, stride=stride)
    rows, columns = x.shape[1] * stride, x.shape[2] * stride
    top = max(kernel.shape[0] - stride, 0) // 2
    left = max(kernel.shape[1] - stride, 0) // 2
    return y[:, top: top + rows, left: left + columns]


def depthwise(x, kernel, bias, **options):
    """x (N, H, W, C), kernel (height, width, C, M)."""
    height, width, channels, multiplier = kernel.shape
    weights = kernel.reshape(height, width, 1, channels * multiplier).permute(3, 2, 0, 1)
    return functional.conv2d(x.permute(0, 3, 1, 2), weights, bias, groups=channels, **options).permute(0, 2, 3, 1)


def separable(x, kernel, mixing, bias):
    y = depthwise(x, kernel, None, padding=1)
    return y @ mixing.reshape(mixing.shape[2:]) + bias


def normalised_groups(x, gamma, beta, groups):
    y = functional.group_norm(x.permute(0, 3, 1, 2), groups, gamma, beta, eps=1e-3)
    return y.permute(0, 2, 3, 1)


def root_mean_square(x, scale):
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * scale


def gru(x, kernel, recurrent, bias, backwards=False, reset_after=True):
    """As Keras defines it, with kernels in the order z, r, h; all steps."""
    units = recurrent.shape[0]
    h = x.new_zeros(len(x), units)
    of_inputs, of_states = (bias[0], bias[1]) if reset_after else (bias, bias.new_zeros(3 * units))
    steps = range(x.shape[1])
    outputs = [None] * len(steps)
    for t in reversed(steps) if backwards else steps:
        xz, xr, xh = (x[:, t] @ kernel + of_inputs).chunk(3, 1)
        hz, hr, hh = (h @ recurrent + of_states).chunk(3, 1)
        z, r = torch.sigmoid(xz + hz), torch.sigmoid(xr + hr)
        candidate = torch.tanh(xh + (r * hh if reset_after else (r * h) @ recurrent[:, 2 * units:]))
        h = z * h + (1 - z) * candidate
        outputs[t] = h
    return torch.stack(outputs, 1)


def torch_gru(x, kernel, recurrent, bias):
    """torch's own, from the same parameters: a check of the above."""
    def reordered(m):  # z, r, h to r, z, h
        z, r, h = m.chunk(3, -1)
        return torch.cat([r, z, h], -1)
    layer = torch.nn.GRU(x.shape[2], recurrent.shape[0], batch_first=True).double()
    with torch.no_grad():
        layer.weight_ih_l0.copy_(reordered(kernel).t())
        layer.weight_hh_l0.copy_(reordered(recurrent).t())
        layer.bias_ih_l0.copy_(reordered(bias[0]))
        layer.bias_hh_l0.copy_(reordered(bias[1]))
        return layer(x)[0]


def torch_recurrent(kind, x, kernel, recurrent, bias):
    layer = kind(x.shape[2], recurrent.shape[0], batch_first=True).double()
    with torch.no_grad():
        layer.weight_ih_l0.copy_(kernel.t())
        layer.weight_hh_l0.copy_(recurrent.t())
        layer.bias_ih_l0.copy_(bias)
        layer.bias_hh_l0.zero_()
        return layer(x)[0]


def recurrent_cases():
    x = formula(13, 3, 5, 4)
    kernel, recurrent, bias = formula(17, 4, 9), formula(19, 3, 9), formula(29, 2, 9)
    expected, actual = gru(x, kernel, recurrent, bias), torch_gru(x, kernel, recurrent, bias)
    assert (expected - actual).abs().max() < 1e-12
    yield "gru", expected
    yield "gru_backwards", gru(x, kernel, recurrent, bias, backwards=True)
    yield "gru_reset_before", gru(x, kernel, recurrent, formula(29, 9), reset_after=False)
    yield "lstm", torch_recurrent(torch.nn.LSTM, x, formula(17, 4, 12), formula(19, 3, 12), formula(29, 12))
    yield "simple_rnn", torch_recurrent(torch.nn.RNN, x, formula(17, 4, 3), formula(19, 3, 3), formula(29, 3))


def torch_attention(x, kernels, biases, heads, causal):
    """torch's own, whose heads lie side by side as glia's do; kernels of queries, keys, values and outputs."""
    layer = torch.nn.MultiheadAttention(x.shape[2], heads, batch_first=True).double()
    mask = torch.full((x.shape[1], x.shape[1]), float("-inf"), dtype=x.dtype).triu(1) if causal else None
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([kernel.t() for kernel in kernels[:3]]))
        layer.in_proj_bias.copy_(torch.cat(biases[:3]))
        layer.out_proj.weight.copy_(kernels[3].t())
        layer.out_proj.bias.copy_(biases[3])
        return layer(x, x, x, attn_mask=mask)[0]


def cases():
    sequence = formula(11, 2, 9, 4)
    yield "conv1d_strided", sequence_convolution(sequence, formula(23, 3, 4, 5), formula(31, 5), 1, 1, stride=2)
    yield "conv1d_causal", sequence_convolution(sequence, formula(23, 3, 4, 5), formula(31, 5), 4, 0, dilation=2)
    yield "conv1d_groups", sequence_convolution(sequence, formula(23, 2, 2, 6), formula(31, 6), 0, 0, groups=2)
    image = formula(41, 2, 3, 4, 3)
    kernel, bias = formula(53, 3, 2, 2, 3), formula(61, 2)
    yield "transpose_valid", transposed(image, kernel, bias, stride=2)
    yield "transpose_same", transposed_same(image, kernel, bias, 2)
    yield "transpose_same_large", transposed_same(image, formula(53, 5, 4, 2, 3), bias, 2)
    yield "transpose_given", transposed(image, kernel, bias, stride=2, padding=1, output_padding=1)
    yield "transpose_dilated", transposed(image, kernel, bias, dilation=2)
    sparse = transposed(image, formula(53, 2, 2, 2, 3), bias, stride=3)
    # Keras gives rows and columns that no window reaches, with the bias alone.
    yield "transpose_sparse", torch.cat([torch.cat([sparse, bias.expand(2, 8, 1, 2)], 2), bias.expand(2, 1, 12, 2)], 1)
    picture = formula(71, 2, 5, 4, 3)
    yield "depthwise", depthwise(picture, formula(83, 3, 2, 3, 2), formula(97, 6), stride=2)
    yield "separable", separable(picture, formula(83, 3, 3, 3, 2), formula(89, 1, 1, 6, 4), formula(97, 4))
    channels = formula(101, 2, 3, 2, 6)
    yield "group_norm", normalised_groups(channels, formula(103, 6), formula(107, 6), 3)
    yield "rms_norm", root_mean_square(channels, formula(103, 6))
    yield from recurrent_cases()
    steps = formula(37, 2, 5, 6)
    kernels = [formula(offset, 6, 6) for offset in (43, 47, 59, 67)]
    biases = [formula(offset, 6) for offset in (73, 79, 109, 113)]
    yield "attention", torch_attention(steps, kernels, biases, 3, causal=False)
    yield "attention_causal", torch_attention(steps, kernels, biases, 2, causal=True)


def array(name, values):
    texts = [f"{value:.9e}F" for value in values.flatten().tolist()]
    rows = [", ".join(texts[i:i + 6]) for i in range(0, len(texts), 6)]
    body = ",\n    ".join(rows)
    return f"inline constexpr std::array<float, {len(texts)}> {name}{{\n    {body}}};\n"


def main():
    arrays = [array(name, values) for name, values in cases()]
    path = pathlib.Path(__file__).with_name("layers_golden.hpp")
    path.write_text(HEADER.format(version=torch.__version__) + "\n".join(arrays) + "\n}  // namespace glia_golden\n")
    print(f"wrote {len(arrays)} cases to {path.name}")


main()
