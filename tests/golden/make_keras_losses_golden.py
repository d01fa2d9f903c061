"""Writes keras_losses_golden.hpp: what Keras gives for focal cross-entropies and for Dice losses.

Run it with Keras 3 on any of its backends, then clang-format -i:

    KERAS_BACKEND=jax JAX_ENABLE_X64=1 python3 tests/golden/make_keras_losses_golden.py
"""

import pathlib

import keras
import numpy

HEADER = """\
// Made by tests/golden/make_keras_losses_golden.py with Keras {version} in float64: do not edit.
#pragma once

#include <array>
#include <cstdint>

namespace glia_golden {{

"""

GAMMAS = (0.5, 2, 5)


def array(kind, name, values):
    form = "{:.9e}F" if kind == "float" else "{:.17e}" if kind == "double" else "{}"
    texts = [form.format(value) for value in numpy.ravel(values)]
    return f"inline constexpr std::array<{kind}, {len(texts)}> {name}{{\n    {', '.join(texts)}}};\n"


def arrays():
    rng = numpy.random.default_rng(5)
    logits = (3 * rng.normal(size=(8, 4))).astype(numpy.float32)
    classes = rng.integers(0, 4, 8)
    labels = rng.integers(0, 2, (8, 4))
    exact = logits.astype(numpy.float64)
    yield array("float", "focal_logits", logits)
    yield array("std::int32_t", "focal_classes", classes)
    yield array("float", "focal_labels", labels)
    one_hot = numpy.eye(4)[classes]
    yield array("double", "focal_softmax_losses", [
        keras.losses.CategoricalFocalCrossentropy(alpha=1, gamma=gamma, from_logits=True, reduction="none",
                                                  dtype="float64")(one_hot, exact) for gamma in GAMMAS])
    yield array("double", "focal_sigmoid_losses", [
        keras.losses.BinaryFocalCrossentropy(gamma=gamma, from_logits=True, reduction="none",
                                             dtype="float64")(labels.astype(float), exact) for gamma in GAMMAS])
    images = (2 * rng.normal(size=(3, 4, 5, 3))).astype(numpy.float32)
    pixels = rng.integers(0, 3, (3, 4, 5))
    masks = rng.integers(0, 2, images.shape)
    yield array("float", "dice_logits", images)
    yield array("float", "dice_classes", pixels)
    yield array("float", "dice_masks", masks)
    # For each sample and channel. Keras applies neither the softmax nor the sigmoid.
    dice = keras.losses.Dice(axis=(1, 2), reduction="none", dtype="float64")
    exact = images.astype(numpy.float64)
    yield array("double", "softmax_dice_losses", dice(numpy.eye(3)[pixels], keras.ops.softmax(exact)))
    yield array("double", "sigmoid_dice_losses", dice(masks.astype(float), keras.ops.sigmoid(exact)))


path = pathlib.Path(__file__).with_name("keras_losses_golden.hpp")
path.write_text(HEADER.format(version=keras.__version__) + "\n".join(arrays()) + "\n}  // namespace glia_golden\n")
