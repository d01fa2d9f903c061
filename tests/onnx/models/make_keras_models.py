"""Writes what Keras exports of small networks, for the tests that read ONNX files.

    pip install keras tensorflow-cpu tf2onnx onnx onnxruntime safetensors
    KERAS_BACKEND=tensorflow python make_keras_models.py FOLDER [NAME...]

FOLDER gets keras_NAME.onnx as model.export(..., format="onnx") writes it, with a batch of any size, and beside each a
.safetensors file of "x", a batch of inputs, and "y", what Keras itself gives for them. With KERAS_BACKEND=torch (and
torch and onnxscript installed) Keras exports by torch's older exporter instead, and the files are named
keras_torch_NAME; those kept here are of transfer and gru. The weights are of a fixed seed: another run gives the same
arrays, but tf2onnx may name and order some nodes otherwise.
"""

import pathlib

import keras
import numpy as np
from fixture import finish, read_arguments
from keras import layers

BATCH = 2


def mlp():
    return [layers.Flatten(), layers.Dense(16, "relu"), layers.Dropout(0.2), layers.Dense(10, "softmax")]


def cnn():
    features = [layers.Conv2D(8, 5, activation="relu"), layers.MaxPooling2D()]
    more = [layers.Conv2D(12, 5, activation="relu"), layers.MaxPooling2D()]
    dense = [layers.Flatten(), layers.Dense(32, "relu"), layers.Dropout(0.2), layers.Dense(10, "softmax")]
    return features + more + dense


def relu6():
    return layers.ReLU(max_value=6)


def norm():
    return layers.BatchNormalization()


def transfer():
    """MobileNetV2 in small: a stem, a depthwise block with its residual, a separable one, and the head."""
    inputs = keras.Input((16, 16, 3))
    x = layers.Rescaling(3.0, offset=0.5)(inputs)  # so that relu6 has something to cut off
    x = relu6()(norm()(layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(x)))
    z = relu6()(norm()(layers.Conv2D(16, 1, use_bias=False)(x)))
    z = relu6()(norm()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(z)))
    z = norm()(layers.Conv2D(8, 1, use_bias=False)(z))
    x = layers.add([x, z])
    x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    x = relu6()(norm()(layers.SeparableConv2D(12, 3, strides=2, padding="valid")(x)))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5, "softmax")(x))


def inception():
    def part(x, filters, size):
        return layers.ReLU()(norm()(layers.Conv2D(filters, size, padding="same", use_bias=False)(x)))

    x = keras.Input((8, 9, 5))
    pool = layers.MaxPooling2D(3, strides=1, padding="same")(x)
    branches = [part(x, 4, 1), part(part(x, 4, 1), 6, 3), part(part(x, 2, 1), 4, 5), part(pool, 3, 1)]
    return keras.Model(x, layers.concatenate(branches))


# Each network's name, how it is made, and the shape of one input.
MODELS = {
    "mlp": (mlp, (28, 28)),
    "cnn": (cnn, (28, 28, 1)),
    "transfer": (transfer, (16, 16, 3)),
    "inception": (inception, (8, 9, 5)),
    "gru": (lambda: [layers.GRU(12), layers.Dense(5)], (5, 16)),
    "gru_unrolled": (lambda: [layers.GRU(12, unroll=True), layers.Dense(5)], (5, 16)),
    "lstm": (lambda: [layers.LSTM(12), layers.Dense(5)], (5, 16)),
    "lstm_unrolled": (lambda: [layers.LSTM(12, unroll=True), layers.Dense(5)], (5, 16)),
}


def randomize(model, generator):
    """Biases and norms get values too, which otherwise start at 0 and 1: y then depends on all."""
    for weight in model.weights:
        name, shape = weight.name, weight.shape
        if name == "gamma":
            weight.assign(generator.uniform(0.5, 1.5, shape))
        elif name == "moving_variance":
            weight.assign(generator.uniform(0.2, 0.6, shape))
        elif name in ("bias", "beta", "moving_mean"):
            weight.assign(generator.normal(0, 0.2, shape))


def write(folder, name):
    keras.backend.clear_session()  # so that names count from 0
    keras.utils.set_random_seed(7)
    generator = np.random.default_rng(7)
    make, shape = MODELS[name]
    made = make()
    model = keras.Sequential([keras.Input(shape), *made]) if isinstance(made, list) else made
    randomize(model, generator)
    x = generator.standard_normal((BATCH, *shape), dtype=np.float32)
    y = keras.ops.convert_to_numpy(model(x, training=False))

    full = f"keras_{name}" if keras.backend.backend() == "tensorflow" else f"keras_{keras.backend.backend()}_{name}"
    model.export(folder / f"{full}.onnx", format="onnx", verbose=False)
    finish(folder, full, x, y)


if __name__ == "__main__":
    folder, names = read_arguments(__doc__, MODELS)
    for chosen in names:
        write(folder, chosen)
