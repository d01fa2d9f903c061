"""What the Python peers share: their flags, the MNIST files and the lines they print."""

import argparse
import gzip
import json
import os
import resource


def parse_flags(description):
    flags = argparse.ArgumentParser(description=description)
    flags.add_argument("--data", default="examples/data/mnist", help="folder of the gzip IDX files")
    flags.add_argument("--epochs", type=int, default=20)
    flags.add_argument("--batch", type=int, default=100)
    flags.add_argument("--threads", type=int, default=os.cpu_count())
    flags.add_argument("--images", type=int, default=60000, help="train on the first so many only")
    flags.add_argument("--seed", type=int, default=1)
    return flags.parse_args()


def read_split(folder, split):
    """Images as float32 (n, 784) in [0, 1], labels as int64 (n,)."""
    import numpy  # not sooner: it loads a BLAS, and a peer may want to load another first

    with gzip.open(f"{folder}/{split}-images-idx3-ubyte.gz") as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 784)
    with gzip.open(f"{folder}/{split}-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return pixels.astype(numpy.float32) / numpy.float32(255), labels.astype(numpy.int64)


def emit(**line):
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**line, "peak_mb": round(peak_mb, 1)}), flush=True)
