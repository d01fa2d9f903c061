"""The small networks of benchmarks/run small, for the peers: sizes, and random data of a batch."""

# Widths of perceptrons with tanh (or ReLU, "table") between them.
SIZES = {"gradient": (24, 8, 2), "exponential": (4, 32, 16, 4), "table": (54, 128, 128, 7)}
NETWORKS = ("lenet", "gradient", "exponential", "table", "lstm_stream")


def batch_of(network, count, seed):
    """Inputs and targets as NumPy arrays: numbers, or classes of a table."""
    import numpy

    random = numpy.random.default_rng(seed)
    inputs, outputs = SIZES[network][0], SIZES[network][-1]
    x = random.normal(size=(count, inputs)).astype(numpy.float32)
    if network == "table":
        return x, (numpy.arange(count) % outputs).astype(numpy.int32)
    return x, random.normal(size=(count, outputs)).astype(numpy.float32)
