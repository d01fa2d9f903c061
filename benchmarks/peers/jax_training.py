"""What the JAX peers share: the step, the epochs, what is printed of them.

JAX takes the device that it finds: the processor, or a GPU where its plugin is installed.
"""

import os
import statistics
import time

from mnist_data import emit, parse_flags, read_split


def run(description, init, forward, sample, batch):
    flags = parse_flags(description, epochs=4, batch=batch)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:flags.threads])  # XLA has a thread for each

    import jax
    import jax.numpy as jnp
    import numpy

    def loss_of(parameters, x, y, key):
        logits = forward(parameters, x, key)
        losses = jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, y[:, None], axis=1)[:, 0]
        return losses.mean(), losses.sum()

    def adam(parameters, state, gradients, step):
        rate, b1, b2, epsilon = 1e-3, 0.9, 0.999, 1e-7
        scale = rate * jnp.sqrt(1 - b2**step) / (1 - b1**step)
        first = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state[0], gradients)
        second = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state[1], gradients)
        changed = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + epsilon), parameters, first, second)
        return changed, (first, second)

    def train_step(parameters, state, total, x, y, step):
        key = jax.random.fold_in(jax.random.key(flags.seed), step)
        gradients, losses = jax.grad(loss_of, has_aux=True)(parameters, x, y, key)
        parameters, state = adam(parameters, state, gradients, (step + 1).astype(jnp.float32))
        return parameters, state, total + losses

    step_fn = jax.jit(train_step, donate_argnums=(0, 1, 2))
    infer = jax.jit(lambda parameters, x: forward(parameters, x))

    random = numpy.random.default_rng(flags.seed)
    images, labels = read_split(flags.data, "train")
    images = images[: flags.images].reshape(-1, *sample)
    labels = labels[: flags.images].astype(numpy.int32)
    parameters = jax.tree.map(jnp.asarray, init(random))
    state = (jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters))
    device = jax.devices()[0]
    about = {"peer": "jax", "version": jax.__version__, "device": f"{device.platform}, {device.device_kind}",
             "threads": flags.threads}

    step = 0
    for epoch in range(1, flags.epochs + 1):
        order = random.permutation(len(images))
        start = time.perf_counter()
        total = jnp.zeros(())
        for at in range(0, len(order), flags.batch):  # a short last batch is a second compilation
            chosen = order[at: at + flags.batch]
            parameters, state, total = step_fn(parameters, state, total, images[chosen], labels[chosen],
                                               numpy.int32(step))
            step += 1
            if step == 1:
                total.block_until_ready()
                emit(**about, first_step_seconds=round(time.perf_counter() - start, 4))
        loss = float(total) / len(order)
        seconds = time.perf_counter() - start
        emit(**about, epoch=epoch, seconds=round(seconds, 4), images=len(images), loss=round(loss, 6))

    # Single steps, each waited for.
    latencies = []
    chosen = numpy.arange(flags.batch)
    while len(latencies) < 110 and (len(latencies) < 6 or sum(latencies) < 5e3):
        start = time.perf_counter()
        parameters, state, total = step_fn(parameters, state, jnp.zeros(()), images[chosen], labels[chosen],
                                           numpy.int32(step))
        float(total)
        latencies.append(1e3 * (time.perf_counter() - start))
        step += 1
    emit(**about, step_ms=round(statistics.median(latencies[3:]), 3))

    images, labels = read_split(flags.data, "t10k")
    images = images.reshape(-1, *sample)
    hits = [numpy.asarray(infer(parameters, images[at: at + 1000])).argmax(1) == labels[at: at + 1000]
            for at in range(0, len(images), 1000)]
    emit(**about, test_accuracy=round(float(numpy.mean(hits)), 4))
