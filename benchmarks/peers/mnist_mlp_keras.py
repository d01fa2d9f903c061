"""The MNIST perceptron (784-400-400-500-10, ReLU, Adam 1e-3) in Keras 3 on TensorFlow's CPU.

As fast as we could get it. Tried at batch 100 with two threads on a busy machine with TensorFlow 2.21,
seconds for an epoch once compiled (scaled up from 10,000 images; repeats differ by a fifth):

    5.3  model.fit on NumPy arrays
    6    ... with jit_compile=True (4.3 to 7.9)
    4.0  ... with steps_per_execution=50
    2.7  ... with both (2.5 on tensors)
    4.3  a tf.function training step called from Python
    2.8  ... with jit_compile=True
    3.0  one tf.function for the whole epoch
    2.3  ... whose step has jit_compile=True
    1.8  ... that has jit_compile=True itself: kept here

The first epoch's seconds hold XLA's compilation, about one second.
"""

import os
import time

from mnist_data import emit, parse_flags, read_split

flags = parse_flags("train the MNIST perceptron with Keras", modes=["bfloat16"])
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"  # read once, at the import

import keras  # noqa: E402
import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402


def make_model():
    # Glorot uniform kernels and zero biases are Keras's defaults.
    hidden = [keras.layers.Dense(units, activation="relu") for units in (400, 400, 500)]
    return keras.Sequential([keras.Input((784,)), *hidden, keras.layers.Dense(10)])


def make_epoch(model, optimizer, images, labels):
    def step(chosen):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                tf.gather(labels, chosen), tf.cast(model(tf.gather(images, chosen), training=True), tf.float32))
            loss = tf.reduce_mean(losses)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    @tf.function(jit_compile=True)
    def train(batches):
        """Train on each row of indices and return the sum of the batches' losses."""
        total = tf.constant(0.0)
        for i in tf.range(batches.shape[0]):
            total += step(batches[i])
        return total

    return train


def train_epoch(train, count, random):
    order = random.permutation(count).astype(numpy.int32)
    whole = count - count % flags.batch
    total = 0.0
    if whole:
        total += float(train(tf.constant(order[:whole].reshape(-1, flags.batch)))) * flags.batch
    if whole < count:  # XLA's shapes are fixed: the short last batch is a second compilation
        total += float(train(tf.constant(order[whole:].reshape(1, -1)))) * (count - whole)
    return total / count


def main():
    tf.config.threading.set_intra_op_parallelism_threads(flags.threads)
    tf.config.threading.set_inter_op_parallelism_threads(flags.threads)
    keras.utils.set_random_seed(flags.seed)
    if flags.bfloat16:
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    random = numpy.random.default_rng(flags.seed)
    images, labels = (tf.constant(a[: flags.images]) for a in read_split(flags.data, "train"))
    model = make_model()
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    train = make_epoch(model, optimizer, images, labels)
    about = {"peer": "keras", "version": f"{keras.__version__} (tensorflow {tf.__version__})",
             "blas": "XLA", "threads": flags.threads}

    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        loss = train_epoch(train, len(images), random)
        seconds = time.perf_counter() - start
        emit(**about, epoch=epoch, seconds=round(seconds, 4), images=len(images), loss=round(loss, 6))

    images, labels = read_split(flags.data, "t10k")
    accuracy = float((keras.ops.convert_to_numpy(tf.cast(model(images), tf.float32)).argmax(1) == labels).mean())
    emit(peer="keras", test_accuracy=round(accuracy, 4))


main()
