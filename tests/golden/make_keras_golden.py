"""Makes keras_golden.weights.h5 (Keras 3's format), keras_golden.h5 (the older one, a whole model)
and keras_golden.hpp, what that model answers.

    KERAS_BACKEND=jax python tests/golden/make_keras_golden.py    # with keras and jax
"""

import pathlib

import keras
import numpy as np
from keras import layers

FOLDER = pathlib.Path(__file__).parent

random = np.random.default_rng(7)
model = keras.Sequential(
    [
        keras.Input((5, 4, 2)),
        layers.Conv2D(3, (2, 3), activation="relu", name="first"),
        layers.BatchNormalization(name="norm"),
        layers.DepthwiseConv2D(2, depth_multiplier=2, name="depth"),
        layers.Dropout(0.5),
        layers.Flatten(),
        layers.Dense(3, name="scores"),
    ]
)
for weight in model.weights:
    minimum = 0.5 if "variance" in weight.path else -1.0
    weight.assign(random.uniform(minimum, 1.5, weight.shape))
model.save_weights(FOLDER / "keras_golden.weights.h5")
model.save(FOLDER / "keras_golden.h5")

inputs = random.uniform(-1, 1, (2, 5, 4, 2)).astype("float32")
outputs = np.asarray(model(inputs, training=False))


def array(name, values):
    numbers = ", ".join(f"{v:.9e}F" for v in np.ravel(values))
    return f"inline constexpr std::array<float, {np.size(values)}> {name}{{{numbers}}};\n"


(FOLDER / "keras_golden.hpp").write_text(
    f"""// Made by tests/golden/make_keras_golden.py with keras {keras.__version__} in float32: do not edit.
//
// What the model of keras_golden.weights.h5 and keras_golden.h5 answers (2, 3) to inputs (2, 5, 4, 2).
#pragma once

#include <array>

namespace glia_golden {{

{array("keras_inputs", inputs)}
{array("keras_outputs", outputs)}
}}  // namespace glia_golden
"""
)
