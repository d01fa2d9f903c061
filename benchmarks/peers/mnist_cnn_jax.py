"""The MNIST convolutional network in JAX: a jitted training step whose parameters and optimizer state are donated.

28x28x1 - conv 64 2x2 same, ReLU, pool 2x2, dropout 0.3 - conv 32 2x2 same, ReLU, pool 2x2, dropout 0.3 -
dense 256, ReLU, dropout 0.5 - dense 10; Adam 1e-3. Pooling is the maximum of four slices: XLA's CPU code for the
gradient of a reduce_window takes many times as long.
"""

from jax_training import run


def init(random):
    import numpy

    def layer(*extents):
        fields = numpy.prod(extents[:-2], dtype=int)
        limit = (6 / (fields * (extents[-2] + extents[-1]))) ** 0.5
        return {"kernel": random.uniform(-limit, limit, extents).astype(numpy.float32),
                "bias": numpy.zeros(extents[-1], numpy.float32)}

    return [layer(2, 2, 1, 64), layer(2, 2, 64, 32), layer(1568, 256), layer(256, 10)]


def forward(parameters, x, key=None):
    import jax
    import jax.numpy as jnp

    keys = iter(jax.random.split(key, 3)) if key is not None else None

    def dropout(values, rate):
        if keys is None:
            return values
        return jnp.where(jax.random.uniform(next(keys), values.shape) >= rate, values / (1 - rate), 0)

    for layer in parameters[:2]:
        x = jax.lax.conv_general_dilated(x, layer["kernel"], (1, 1), "SAME",
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = x + layer["bias"]
        x = jnp.maximum(jnp.maximum(x[:, ::2, ::2], x[:, ::2, 1::2]),
                        jnp.maximum(x[:, 1::2, ::2], x[:, 1::2, 1::2]))
        x = dropout(jnp.maximum(x, 0), 0.3)
    x = x.reshape(len(x), -1)
    x = dropout(jnp.maximum(x @ parameters[2]["kernel"] + parameters[2]["bias"], 0), 0.5)
    return x @ parameters[3]["kernel"] + parameters[3]["bias"]


run("train the MNIST convolutional network with JAX", init, forward, sample=(28, 28, 1), batch=1024)
