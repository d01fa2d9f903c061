"""The MNIST perceptron in JAX: a jitted training step whose parameters and optimizer state are donated.

As fast as we could get it on a CPU with two threads. Batches are fed from NumPy, as glia feeds them; the sum of
the losses stays on the device until the epoch is over. Tried besides, at batch 100: the whole data set on the
device with a gather in the step, and an epoch as one lax.scan; see docs/how_to/devices.md.
"""

from jax_training import run

SIZES = [784, 400, 400, 500, 10]


def init(random):
    import numpy

    def layer(inputs, outputs):
        limit = (6 / (inputs + outputs)) ** 0.5
        return {"kernel": random.uniform(-limit, limit, (inputs, outputs)).astype(numpy.float32),
                "bias": numpy.zeros(outputs, numpy.float32)}

    return [layer(*pair) for pair in zip(SIZES, SIZES[1:])]


def forward(parameters, x, _key=None):
    import jax.numpy as jnp

    *hidden, last = parameters
    for layer in hidden:
        x = jnp.maximum(x @ layer["kernel"] + layer["bias"], 0)
    return x @ last["kernel"] + last["bias"]


run("train the MNIST perceptron with JAX", init, forward, sample=(784,), batch=100)
