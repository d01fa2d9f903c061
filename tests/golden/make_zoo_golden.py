"""Writes zoo_golden.hpp: what networks of the zoo give, computed by torch's functions from the published definitions.

The networks are narrow, and the residual ones have few blocks, so that the header stays small. A parameter's numbers
depend on its name alone, as tests/models/zoo_golden_test.cpp makes them, too.
Run it with Debian's python3-torch: /usr/bin/python3 tests/golden/make_zoo_golden.py, then clang-format -i.
"""

import math
import pathlib

import numpy
import torch
from torch.nn import functional

HEADER = """\
// Made by tests/golden/make_zoo_golden.py with torch {version} in float64: do not edit.
//
// The features before the mean over all positions, as (H, W, C), and the logits of {classes} classes.
#pragma once

#include <array>

namespace glia_golden {{

"""

CLASSES = 5


def numbers(name, *shape):
    """In [-0.5, 0.5), exact in float32."""
    offset = 2166136261
    for byte in name.encode():
        offset = (offset ^ byte) * 16777619 % 2**32
    h = (numpy.arange(math.prod(shape), dtype=numpy.uint64) + offset) % 2**32
    for factor, shift in ((2654435769, 15), (2246822519, 13)):
        h = h * factor % 2**32
        h ^= h >> numpy.uint64(shift)
    return (h >> numpy.uint64(8)).astype(numpy.float64).reshape(shape) / 2**24 - 0.5


def tensor(values):
    return torch.from_numpy(values.astype(numpy.float32).astype(numpy.float64))


def weights(name, *shape):
    """A kernel in glia's layout."""
    return tensor(numbers(name, *shape) * math.sqrt(24 / math.prod(shape[:-1])))


def shift(name, count):
    return tensor(numbers(name, count) * 0.3)


def near_one(name, count):
    return tensor(numbers(name, count) * 0.5 + 1)


def pads_of_same(x, kernel, stride):
    """TensorFlow's: the odd row and column at the end."""
    pads = []
    for extent, k, s in ((x.shape[3], kernel[1], stride), (x.shape[2], kernel[0], stride)):
        total = max((-(-extent // s) - 1) * s + k - extent, 0)
        pads += [total // 2, total - total // 2]
    return pads


class Network:
    """Layers by name, on x (N, C, H, W)."""

    def __init__(self, width, epsilon, gamma=True):
        self.width = width
        self.epsilon = epsilon
        self.gamma = gamma

    def channels(self, count):
        return int(count * self.width)

    def conv(self, x, name, filters, kernel, stride=1, padding=0, bias=False, scaled=True):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        filters = self.channels(filters) if scaled else filters
        w = weights(name + ".kernel", *kernel, x.shape[1], filters).permute(3, 2, 0, 1)
        b = shift(name + ".bias", filters) if bias else None
        if padding == "same":
            x, padding = functional.pad(x, pads_of_same(x, kernel, stride)), 0
        return functional.conv2d(x, w, b, stride, padding)

    def separable(self, x, name, filters):
        count = x.shape[1]
        depthwise = weights(name + ".depthwise_kernel", 3, 3, count, 1).permute(2, 3, 0, 1)
        pointwise = weights(name + ".pointwise_kernel", 1, 1, count, self.channels(filters)).permute(3, 2, 0, 1)
        return functional.conv2d(functional.conv2d(x, depthwise, padding=1, groups=count), pointwise)

    def norm(self, x, name):
        count = x.shape[1]
        return functional.batch_norm(x, shift(name + ".moving_mean", count), near_one(name + ".moving_variance", count),
                                     near_one(name + ".gamma", count) if self.gamma else None,
                                     shift(name + ".beta", count), eps=self.epsilon)

    def logits(self, x):
        x = x.mean((2, 3))
        return x @ weights("predictions.kernel", x.shape[1], CLASSES) + shift("predictions.bias", CLASSES)


def resnet(x, blocks, width, of_keras):
    net = Network(width, 1.001e-5 if of_keras else 1e-5)

    def unit(x, name, *arguments, **options):
        return net.norm(net.conv(x, name + "_conv", *arguments, bias=of_keras, **options), name + "_bn")

    x = functional.relu(unit(x, "conv1", 64, 7, 2, 3))
    x = functional.max_pool2d(functional.pad(x, (1, 1, 1, 1)), 3, 2)
    for group, count in enumerate(blocks):
        filters = 64 * 2**group
        for block in range(1, count + 1):
            name = f"conv{group + 2}_block{block}"
            stride = 2 if block == 1 and group > 0 else 1
            shortcut = unit(x, name + "_0", 4 * filters, 1, stride) if block == 1 else x
            y = functional.relu(unit(x, name + "_1", filters, 1, stride if of_keras else 1))
            y = functional.relu(unit(y, name + "_2", filters, 3, 1 if of_keras else stride, 1))
            x = functional.relu(shortcut + unit(y, name + "_3", 4 * filters, 1))
    return x, net.logits(x)


def resnet_v2(x, blocks, width):
    net = Network(width, 1.001e-5)

    def activated(x, name):
        return functional.relu(net.norm(x, name))

    x = net.conv(x, "conv1_conv", 64, 7, 2, 3, bias=True)
    x = functional.max_pool2d(functional.pad(x, (1, 1, 1, 1)), 3, 2)
    for group, count in enumerate(blocks):
        filters = 64 * 2**group
        for block in range(1, count + 1):
            name = f"conv{group + 2}_block{block}"
            stride = 2 if block == count and group < 3 else 1
            activation = activated(x, name + "_preact_bn")
            if block == 1:
                shortcut = net.conv(activation, name + "_0_conv", 4 * filters, 1, stride, bias=True)
            else:
                shortcut = x[:, :, ::stride, ::stride]
            y = activated(net.conv(activation, name + "_1_conv", filters, 1), name + "_1_bn")
            y = activated(net.conv(y, name + "_2_conv", filters, 3, stride, 1), name + "_2_bn")
            x = shortcut + net.conv(y, name + "_3_conv", 4 * filters, 1, bias=True)
    x = activated(x, "post_bn")
    return x, net.logits(x)


def xception(x, width):
    net = Network(width, 1e-3)

    def separable(x, name, filters):
        return net.norm(net.separable(x, name, filters), name + "_bn")

    for name, filters, stride in (("block1_conv1", 32, 2), ("block1_conv2", 64, 1)):
        x = functional.relu(net.norm(net.conv(x, name, filters, 3, stride), name + "_bn"))
    for block in range(2, 14):
        name = f"block{block}"
        if 5 <= block <= 12:
            y = x
            for part in (1, 2, 3):
                y = separable(functional.relu(y), f"{name}_sepconv{part}", 728)
            x = x + y
            continue
        first, second = {2: (128, 128), 3: (256, 256), 4: (728, 728), 13: (728, 1024)}[block]
        shortcut = net.norm(net.conv(x, name + "_shortcut", second, 1, 2, "same"), name + "_shortcut_bn")
        y = separable(x if block == 2 else functional.relu(x), name + "_sepconv1", first)
        y = separable(functional.relu(y), name + "_sepconv2", second)
        y = functional.pad(y, pads_of_same(y, (3, 3), 2), value=-math.inf)
        x = shortcut + functional.max_pool2d(y, 3, 2)
    for name, filters in (("block14_sepconv1", 1536), ("block14_sepconv2", 2048)):
        x = functional.relu(separable(x, name, filters))
    return x, net.logits(x)


def inception_v3(x, width, of_keras):
    net = Network(width, 1e-3, gamma=not of_keras)

    def row(x, *units):
        for name, *arguments in units:
            arguments = arguments + [1, "same"][len(arguments) - 2:]
            x = functional.relu(net.norm(net.conv(x, name, *arguments), name + "_bn"))
        return x

    def mean(x):
        return functional.avg_pool2d(x, 3, 1, 1, count_include_pad=not of_keras)

    def largest(x):
        return functional.max_pool2d(x, 3, 2)

    across, down = (1, 7), (7, 1)
    x = row(x, ("conv1a_3x3", 32, 3, 2, 0), ("conv2a_3x3", 32, 3, 1, 0), ("conv2b_3x3", 64, 3))
    x = row(largest(x), ("conv3b_1x1", 80, 1), ("conv4a_3x3", 192, 3, 1, 0))
    x = largest(x)
    for block in range(11):
        b = f"mixed{block}.branch"
        if block < 3:
            pooled = 32 if block == 0 else 64
            parts = [row(x, (b + "1x1", 64, 1)),
                     row(x, (b + "5x5_1", 48, 1), (b + "5x5_2", 64, 5)),
                     row(x, (b + "3x3dbl_1", 64, 1), (b + "3x3dbl_2", 96, 3), (b + "3x3dbl_3", 96, 3)),
                     row(mean(x), (b + "_pool", pooled, 1))]
        elif block == 3:
            parts = [row(x, (b + "3x3", 384, 3, 2, 0)),
                     row(x, (b + "3x3dbl_1", 64, 1), (b + "3x3dbl_2", 96, 3), (b + "3x3dbl_3", 96, 3, 2, 0)),
                     largest(x)]
        elif block < 8:
            c = {4: 128, 5: 160, 6: 160, 7: 192}[block]
            parts = [row(x, (b + "1x1", 192, 1)),
                     row(x, (b + "7x7_1", c, 1), (b + "7x7_2", c, across), (b + "7x7_3", 192, down)),
                     row(x, (b + "7x7dbl_1", c, 1), (b + "7x7dbl_2", c, down), (b + "7x7dbl_3", c, across),
                         (b + "7x7dbl_4", c, down), (b + "7x7dbl_5", 192, across)),
                     row(mean(x), (b + "_pool", 192, 1))]
        elif block == 8:
            parts = [row(x, (b + "3x3_1", 192, 1), (b + "3x3_2", 320, 3, 2, 0)),
                     row(x, (b + "7x7x3_1", 192, 1), (b + "7x7x3_2", 192, across), (b + "7x7x3_3", 192, down),
                         (b + "7x7x3_4", 192, 3, 2, 0)),
                     largest(x)]
        else:
            single = row(x, (b + "3x3_1", 384, 1))
            double = row(x, (b + "3x3dbl_1", 448, 1), (b + "3x3dbl_2", 384, 3))
            parts = [row(x, (b + "1x1", 320, 1)),
                     row(single, (b + "3x3_2a", 384, (1, 3))), row(single, (b + "3x3_2b", 384, (3, 1))),
                     row(double, (b + "3x3dbl_3a", 384, (1, 3))), row(double, (b + "3x3dbl_3b", 384, (3, 1))),
                     row(mean(x), (b + "_pool", 192, 1))]
        x = torch.cat(parts, 1)
    return x, net.logits(x)


def squeezenet(x, width, filters, kernel, pooled):
    net = Network(width, None)

    def conv(x, name, *arguments, **options):
        return functional.relu(net.conv(x, name, *arguments, bias=True, **options))

    x = conv(x, "conv1", filters, kernel, 2)
    for module in range(1, 10):
        if module > 1:
            squeezed = 16 * (module // 2)
            x = conv(x, f"fire{module}.squeeze1x1", squeezed, 1)
            x = torch.cat([conv(x, f"fire{module}.expand1x1", 4 * squeezed, 1),
                           conv(x, f"fire{module}.expand3x3", 4 * squeezed, 3, 1, 1)], 1)
        if module in pooled:
            x = functional.max_pool2d(x, 3, 2, ceil_mode=True)
    return x, conv(x, "conv10", CLASSES, 1, scaled=False).mean((2, 3))


def image(rows, columns):
    return tensor(numbers("image", 1, rows, columns, 3) * 2).permute(0, 3, 1, 2)


def cases():
    yield "resnet_keras", resnet(image(33, 46), (2, 1, 1, 2), 1 / 16, True)
    yield "resnet_torchvision", resnet(image(33, 46), (2, 1, 1, 2), 1 / 16, False)
    yield "resnet_v2", resnet_v2(image(33, 46), (2, 1, 3, 2), 1 / 16)
    yield "xception", xception(image(33, 46), 1 / 8)
    yield "inception_v3_keras", inception_v3(image(107, 139), 1 / 16, True)
    yield "inception_v3_torchvision", inception_v3(image(107, 139), 1 / 16, False)
    yield "squeezenet1_0", squeezenet(image(37, 40), 1 / 4, 96, 7, (1, 4, 8))
    yield "squeezenet1_1", squeezenet(image(37, 40), 1 / 4, 64, 3, (1, 3, 5))


def array(name, values):
    texts = [f"{value:.7e}F" for value in values.flatten().tolist()]
    rows = [", ".join(texts[i:i + 6]) for i in range(0, len(texts), 6)]
    body = ",\n    ".join(rows)
    return f"inline constexpr std::array<float, {len(texts)}> {name}{{\n    {body}}};\n"


def main():
    arrays = []
    for name, (features, logits) in cases():
        arrays += [array(name + "_features", features.permute(0, 2, 3, 1)), array(name + "_logits", logits)]
        print(name, tuple(features.shape), f"{features.abs().max():.3g}", logits.flatten().tolist())
    path = pathlib.Path(__file__).with_name("zoo_golden.hpp")
    header = HEADER.format(version=torch.__version__, classes=CLASSES)
    path.write_text(header + "\n".join(arrays) + "\n}  // namespace glia_golden\n")
    print(f"wrote {len(arrays)} arrays to {path.name}")


if __name__ == "__main__":
    main()
