"""Writes keras_convolutions_golden.hpp: what Keras gives for convolutions and pools of volumes, for transposed
convolutions of sequences, and for images enlarged by bilinear interpolation.

Inputs and parameters come from one formula that C++ repeats to the last bit, so the header holds results only.
Run it with Keras 3 on any of its backends, then clang-format -i:

    KERAS_BACKEND=jax JAX_ENABLE_X64=1 python3 tests/golden/make_keras_convolutions_golden.py
"""


import golden_header
import keras
import numpy
from keras import layers

HEADER = """\
// Made by tests/golden/make_keras_convolutions_golden.py with Keras {version} in float64: do not edit.
//
// Inputs and parameters are those that the tests of these layers make of `formula`.
#pragma once

#include <array>

namespace glia_golden {{

"""


def formula(offset, *shape):
    count = int(numpy.prod(shape))
    values = [((i * i * 61 + i * 7919 + offset) % 1000) / 1000.0 - 0.5 for i in range(count)]
    return numpy.array(values, dtype=numpy.float32).astype(numpy.float64).reshape(shape)


def outputs_of(layer, x, offsets=()):
    layer.build(x.shape)
    layer.set_weights([formula(offset, *w.shape) for offset, w in zip(offsets, layer.weights, strict=True)])
    return layer(x)


def sequence_cases():
    x = formula(11, 2, 5, 4)
    cases = {
        "transpose1d_valid": {"kernel_size": 3, "strides": 2},
        "transpose1d_sparse": {"kernel_size": 2, "strides": 3},
        "transpose1d_same": {"kernel_size": 4, "strides": 3, "padding": "same"},
        "transpose1d_dilated": {"kernel_size": 3, "dilation_rate": 2},
    }
    for name, options in cases.items():
        yield name, outputs_of(layers.Conv1DTranspose(3, **options), x, (23, 31))


def volume_cases():
    x = formula(41, 2, 5, 4, 6, 3)
    convolutions = {
        "conv3d_valid": {"kernel_size": (3, 2, 3)},
        "conv3d_same": {"kernel_size": (2, 3, 2), "padding": "same", "activation": "tanh"},
        "conv3d_strided": {"kernel_size": (2, 3, 3), "strides": (2, 1, 2), "padding": "same"},
        "conv3d_sparse": {"kernel_size": 1, "strides": 3},
        "conv3d_dilated": {"kernel_size": (2, 2, 3), "dilation_rate": (3, 1, 2)},
    }
    for name, options in convolutions.items():
        yield name, outputs_of(layers.Conv3D(2, **options), x, (53, 61))
    pools = {
        "valid": {"pool_size": 2},
        "same": {"pool_size": (3, 2, 3), "strides": (2, 3, 1), "padding": "same"},
    }
    for name, options in pools.items():
        yield f"max_pool3d_{name}", outputs_of(layers.MaxPooling3D(**options), x)
        yield f"avg_pool3d_{name}", outputs_of(layers.AveragePooling3D(**options), x)


def cases():
    yield from sequence_cases()
    yield from volume_cases()
    image = formula(71, 2, 3, 2, 2)
    for name, size in {"bilinear_2x3": (2, 3), "bilinear_1x4": (1, 4)}.items():
        yield name, outputs_of(layers.UpSampling2D(size, interpolation="bilinear"), image)


def main():
    keras.config.set_floatx("float64")
    golden_header.write("keras_convolutions_golden.hpp", HEADER.format(version=keras.__version__), cases())


main()
