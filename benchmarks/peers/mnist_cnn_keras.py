"""The MNIST convolutional network in Keras 3 on TensorFlow's CPU, with XLA (--xla 1) or without (--xla 0).

28x28x1 - conv 64 2x2 same, ReLU, pool 2x2, dropout 0.3 - conv 32 2x2 same, ReLU, pool 2x2, dropout 0.3 -
dense 256, ReLU, dropout 0.5 - dense 10; Adam 1e-3.

Both as fast as we could get them. Tried at batch 1024 with two threads on a busy machine with TensorFlow
2.21, NHWC, seconds for an epoch once compiled (scaled up from 5,000 images; repeats differ by a fifth).
Where not told otherwise malloc keeps freed memory, without which page faults cost a third.

Without XLA:

    38    a tf.function training step without the kept memory
    30    model.fit on tensors with steps_per_execution=4
    24    one tf.function for the whole epoch
    23    a tf.function training step: kept here
    25    ... without oneDNN
    23    ... with dropout by tf.random.uniform
    23    ... with pooling before ReLU
   100    ... with pooling as the maximum of slices, or with convolutions as matrix products (busier)

With XLA, a training step with jit_compile=True:

   420    Keras's layers
    48    ... with dropout by tf.random.uniform, and pooling before ReLU
    34    ... and pooling as the maximum of slices (as a reduction over a reshape: 35): kept here
    43    ... without the kept memory; the peak is then 1.2 GB and not 1.7 GB
    35    ... with the first convolution as a matrix product of shifted images (the second: 41)
    36    ... with dropout from 16 random bits for each element
  1000    one tf.function for the whole epoch that has jit_compile=True itself

Inference, for 10,000 images in batches of 1000 and for one image (from NumPy to NumPy):

    0.8 s    490-690 us   a tf.function of Keras's layers, a concrete one for one image: kept without XLA
           3100-3900 us   ... with the weights frozen into constants
    0.9 s    540-720 us   a tf.function with jit_compile=True of Keras's layers
    0.7 s    430-530 us   ... of the layers above
             390-540 us   ... with the weights frozen into constants: kept with XLA

The first epoch's seconds hold the compilation, one to three seconds with XLA.
"""

import os
import time

from mnist_data import emit, emit_inference, keep_freed_memory, parse_flags, read_split

flags = parse_flags("train the MNIST convolutional network with Keras", epochs=10, batch=1024,
                    switches=["xla"])
keep_freed_memory()
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"  # read once, at the import

import keras  # noqa: E402
import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402
from tensorflow.python.framework.convert_to_constants import (  # noqa: E402
    convert_variables_to_constants_v2)

XLA = bool(flags.xla)


class SlicedMaxPooling2D(layers.Layer):
    """MaxPooling2D(2) as the maximum of four slices: XLA's CPU code for a pooling's gradient is slow."""

    def call(self, x):
        upper = tf.maximum(x[:, ::2, ::2], x[:, ::2, 1::2])
        lower = tf.maximum(x[:, 1::2, ::2], x[:, 1::2, 1::2])
        return tf.maximum(upper, lower)


class UniformDropout(layers.Layer):
    """Dropout drawn by tf.random.uniform: XLA's CPU code is slow at Keras's own, stateless draws."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def call(self, x, training=False):
        if not training:
            return x
        return tf.where(tf.random.uniform(tf.shape(x)) >= self.rate, x * (1 / (1 - self.rate)), 0.0)


def make_model():
    # Glorot uniform kernels and zero biases are Keras's defaults.
    dropout = UniformDropout if XLA else layers.Dropout

    def block(filters):
        if not XLA:
            return [layers.Conv2D(filters, 2, padding="same", activation="relu"), layers.MaxPooling2D(2)]
        # ReLU and maximum commute: the pooling comes first, so that ReLU sees a quarter.
        return [layers.Conv2D(filters, 2, padding="same"), SlicedMaxPooling2D(), layers.ReLU()]

    return keras.Sequential([
        keras.Input((28, 28, 1)), *block(64), dropout(0.3), *block(32), dropout(0.3), layers.Flatten(),
        layers.Dense(256, activation="relu"), dropout(0.5), layers.Dense(10)])


def make_step(model, optimizer, images, labels):
    @tf.function(jit_compile=XLA)
    def step(chosen):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                tf.gather(labels, chosen), model(tf.gather(images, chosen), training=True))
            loss = tf.reduce_mean(losses)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return step


def train_epoch(step, count, random):
    order = random.permutation(count).astype(numpy.int32)
    total = 0.0
    for start in range(0, count, flags.batch):  # a short last batch is a second compilation
        chosen = order[start: start + flags.batch]
        total += float(step(tf.constant(chosen))) * len(chosen)
    return total / count


def main():
    tf.config.threading.set_intra_op_parallelism_threads(flags.threads)
    tf.config.threading.set_inter_op_parallelism_threads(flags.threads)
    keras.utils.set_random_seed(flags.seed)
    random = numpy.random.default_rng(flags.seed)
    images, labels = (a[: flags.images] for a in read_split(flags.data, "train"))
    images, labels = tf.constant(images.reshape(-1, 28, 28, 1)), tf.constant(labels)
    model = make_model()
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    step = make_step(model, optimizer, images, labels)
    about = {"peer": "keras", "xla": XLA, "version": f"{keras.__version__} (tensorflow {tf.__version__})",
             "blas": "XLA" if XLA else "oneDNN, Eigen", "threads": flags.threads}

    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        loss = train_epoch(step, len(images), random)
        seconds = time.perf_counter() - start
        emit(**about, epoch=epoch, seconds=round(seconds, 4), images=len(images), loss=round(loss, 6))

    def infer(rows):
        return model(tf.reshape(rows, (-1, 28, 28, 1)), training=False)

    infer_batch = tf.function(infer, jit_compile=XLA)
    one_row = tf.TensorSpec((1, 784), tf.float32)
    infer_one = tf.function(infer).get_concrete_function(one_row)
    if XLA:  # with the weights as constants; without XLA that is six times slower
        frozen = convert_variables_to_constants_v2(infer_one)
        infer_one = tf.function(lambda row: frozen(row)[0], jit_compile=True).get_concrete_function(one_row)

    def predict(rows):
        return infer_batch(tf.constant(rows)).numpy()

    def single(row):
        return infer_one(tf.constant(row[None])).numpy()[0]

    about = {"peer": "keras", "xla": XLA}
    emit_inference(about, predict, single, *read_split(flags.data, "t10k"), batch=1000)


main()
