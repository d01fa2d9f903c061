"""Small networks in JAX on the CPU: jitted training steps of perceptrons on one batch, epochs of LeNet-5 on MNIST, and
single samples through an LSTM."""

import os
import time

from mnist_data import emit, emit_passes, parse_flags, read_split
from small_networks import NETWORKS, SIZES, batch_of

flags = parse_flags("time a small network with JAX", epochs=3, batch=200, choices={"network": NETWORKS})
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:flags.threads])  # XLA has a thread for each

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402

ABOUT = {"peer": "jax", "version": jax.__version__}
random = numpy.random.default_rng(flags.seed)


def weights(*shape):
    inputs, outputs = int(numpy.prod(shape[:-1])), shape[-1]
    limit = (6 / (inputs + outputs)) ** 0.5
    return {"kernel": jnp.asarray(random.uniform(-limit, limit, shape).astype(numpy.float32)),
            "bias": jnp.zeros(outputs, jnp.float32)}


def dense(layer, x):
    return x @ layer["kernel"] + layer["bias"]


def perceptron(parameters, x):
    activation = jax.nn.relu if flags.network == "table" else jnp.tanh
    for layer in parameters[:-1]:
        x = activation(dense(layer, x))
    return dense(parameters[-1], x)


def lenet(parameters, x):
    for layer in parameters[:2]:
        x = jax.lax.conv_general_dilated(x, layer["kernel"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x + layer["bias"])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = x.reshape(x.shape[0], -1)
    for layer in parameters[2:-1]:
        x = jax.nn.relu(dense(layer, x))
    return dense(parameters[-1], x)


def cross_entropy(logits, y):
    return (jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, y[:, None], axis=1)[:, 0]).mean()


def make_step(forward, loss, parameters):
    """A function of a batch that trains with Adam, or plainly, and returns the loss."""
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    state = [parameters, zeros, jax.tree.map(jnp.zeros_like, parameters), jnp.float32(0)]

    def update(parameters, first, second, count, x, y):
        value, gradients = jax.value_and_grad(lambda p: loss(forward(p, x), y))(parameters)
        if flags.network == "gradient":
            return [jax.tree.map(lambda p, g: p - 1e-3 * g, parameters, gradients), first, second, count], value
        count = count + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
        scale = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        parameters = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-7), parameters, first, second)
        return [parameters, first, second, count], value

    compiled = jax.jit(update, donate_argnums=(0, 1, 2, 3))

    def step(x, y):
        state[:], value = compiled(*state, x, y)
        return value

    return step


def train_lenet():
    images, labels = read_split(flags.data, "train")
    images = images[: flags.images].reshape(-1, 28, 28, 1)
    labels = labels[: flags.images].astype(numpy.int32)
    step = make_step(lenet, cross_entropy, [weights(5, 5, 1, 6), weights(5, 5, 6, 16), weights(256, 120),
                                            weights(120, 84), weights(84, 10)])
    for epoch in range(1, flags.epochs + 1):
        order = random.permutation(len(images))
        start = time.perf_counter()
        for first in range(0, len(order), flags.batch):
            chosen = order[first: first + flags.batch]
            value = step(images[chosen], labels[chosen])
        value.block_until_ready()
        emit(**ABOUT, epoch=epoch, seconds=round(time.perf_counter() - start, 4), images=len(images))


def train():
    sizes = SIZES[flags.network]
    x, y = (jnp.asarray(array) for array in batch_of(flags.network, flags.batch, flags.seed))
    loss = cross_entropy if flags.network == "table" else lambda outputs, y: ((outputs - y) ** 2).mean()
    step = make_step(perceptron, loss, [weights(*pair) for pair in zip(sizes, sizes[1:])])
    emit_passes(flags, ABOUT, lambda: step(x, y), lambda last: last.block_until_ready())


def run_stream():
    cell, top = weights(21, 80), weights(20, 1)

    def compute(x, h, c):
        inner, forget, new, output = jnp.split(dense(cell, jnp.concatenate([x, h], 1)), 4, 1)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(inner) * jnp.tanh(new)
        h = jax.nn.sigmoid(output) * jnp.tanh(c)
        return dense(top, h), h, c

    compiled = jax.jit(compute)
    x, state = jnp.full((1, 1), 0.5), [jnp.zeros((1, 20)), jnp.zeros((1, 20))]

    def step():
        y, *state[:] = compiled(x, *state)
        return y

    emit_passes(flags, ABOUT, step, lambda last: last.block_until_ready())


{"lenet": train_lenet, "lstm_stream": run_stream}.get(flags.network, train)()
