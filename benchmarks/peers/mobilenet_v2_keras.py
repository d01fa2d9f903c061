"""The features of MobileNetV2 (width 1, 224x224, random weights) in Keras 3 on TensorFlow's CPU.

Tried at batch 32 with two threads and TensorFlow 2.21 beside other programs, which oneDNN's threads suffer from:
only the order counts, not the milliseconds an image:

     40   model.predict
     26   a tf.function of the model
     23   ... with the weights frozen into constants: kept here
    290   a tf.function with jit_compile=True (XLA), 320 with frozen weights
"""

import os
import time

from mnist_data import emit, keep_freed_memory, parse_flags

flags = parse_flags("compute MobileNetV2's features with Keras", epochs=3, batch=32)
keep_freed_memory()
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"  # read once, at the import

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework.convert_to_constants import (  # noqa: E402
    convert_variables_to_constants_v2)


def main():
    tf.config.threading.set_intra_op_parallelism_threads(flags.threads)
    tf.config.threading.set_inter_op_parallelism_threads(flags.threads)
    keras.utils.set_random_seed(flags.seed)
    model = keras.applications.MobileNetV2(include_top=False, weights=None, pooling="avg")
    x = tf.random.normal((flags.batch, 224, 224, 3))
    frozen = convert_variables_to_constants_v2(
        tf.function(lambda x: model(x, training=False)).get_concrete_function(x))
    features = tf.function(lambda x: frozen(x)[0])
    passes = flags.images // flags.batch
    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        for _ in range(passes):
            y = features(x)
        y.numpy()
        seconds = time.perf_counter() - start
        emit(peer="keras", version=f"{keras.__version__} (tensorflow {tf.__version__})", epoch=epoch,
             seconds=round(seconds, 4), images=passes * flags.batch)


main()
