"""Recurrent layers and large networks in Keras 3 on TensorFlow's CPU, with XLA (--xla 1) or without (--xla 0): training
steps with Adam of a GRU or an LSTM (128 units, 25 steps of 256), of Xception (331x331), of ResNet-50 (224x224) or of a
U-Net (128x128), the features of ResNet152V2 or the outputs of ResNet-50. Random inputs and weights. --bfloat16 1 uses
Keras's mixed precision."""

import os

from mnist_data import emit_passes, keep_freed_memory, parse_flags

flags = parse_flags("time a network with Keras", epochs=3, batch=8, switches=["xla", "unroll"], modes=["bfloat16"],
                    choices={"network": ("gru", "lstm", "xception", "u_net", "resnet152_v2", "resnet50", "resnet50_logits")})
keep_freed_memory()
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"  # read once, at the import

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

XLA = bool(flags.xla)
ABOUT = {"peer": "keras", "xla": XLA, "version": f"{keras.__version__} (tensorflow {tf.__version__})"}


def emit_passes_of(run):
    emit_passes(flags, ABOUT, run, lambda last: last.numpy())


def u_net(classes, filters, depth):
    """glia's u_net with batch normalization."""
    layers = keras.layers

    def convolve(x, width):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        return x

    inputs = x = keras.Input((128, 128, 3))
    levels = []
    for level in range(depth):
        x = convolve(x, filters << level)
        levels.append(x)
        x = layers.MaxPooling2D()(x)
    x = convolve(x, filters << depth)
    for level in reversed(range(depth)):
        x = layers.Conv2DTranspose(filters << level, 2, 2)(x)
        x = convolve(layers.Concatenate()([levels[level], x]), filters << level)
    return keras.Model(inputs, layers.Conv2D(classes, 1)(x))


def train():
    if flags.network == "xception":
        model = keras.applications.Xception(weights=None, input_shape=(331, 331, 3), classifier_activation=None)
        x, y = tf.random.normal((flags.batch, 331, 331, 3)), tf.range(flags.batch)
    elif flags.network == "u_net":
        model = u_net(classes=4, filters=16, depth=3)
        x = tf.random.normal((flags.batch, 128, 128, 3))
        y = tf.reshape(tf.range(flags.batch * 128 * 128) % 4, (flags.batch, 128, 128))
    elif flags.network == "resnet50":
        model = keras.applications.ResNet50(weights=None, input_shape=(224, 224, 3), classifier_activation=None)
        x, y = tf.random.normal((flags.batch, 224, 224, 3)), tf.range(flags.batch)
    else:
        cell = keras.layers.GRU if flags.network == "gru" else keras.layers.LSTM
        model = keras.Sequential([keras.Input((25, 256)), cell(128, unroll=bool(flags.unroll)), keras.layers.Dense(10)])
        x, y = tf.random.normal((flags.batch, 25, 256)), tf.range(flags.batch) % 10
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=XLA)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                y, tf.cast(model(x, training=True), tf.float32)))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    emit_passes_of(lambda: step(x, y))


def compute_features():
    if flags.network == "resnet50_logits":
        model = keras.applications.ResNet50(weights=None, input_shape=(224, 224, 3), classifier_activation=None)
    else:
        model = keras.applications.ResNet152V2(include_top=False, weights=None, pooling="avg",
                                               input_shape=(224, 224, 3))
    x = tf.random.normal((flags.batch, 224, 224, 3))
    features = tf.function(lambda x: model(x, training=False), jit_compile=XLA)
    emit_passes_of(lambda: features(x))


def main():
    tf.config.threading.set_intra_op_parallelism_threads(flags.threads)
    tf.config.threading.set_inter_op_parallelism_threads(flags.threads)
    keras.utils.set_random_seed(flags.seed)
    if flags.bfloat16:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    compute_features() if flags.network in ("resnet152_v2", "resnet50_logits") else train()


main()
