"""What the Python peers share: their flags, the MNIST files, how inference is timed, the lines they print."""

import argparse
import ctypes
import glob
import gzip
import json
import os
import resource
import statistics
import time


def parse_flags(description, epochs=20, batch=100, switches=(), choices=(), modes=()):
    """The flags all peers have; switches are names of further ones that are 0 or, unless told, 1, modes of those that
    are 1 or, unless told, 0, choices of those that are one of several words, unless told the first."""
    flags = argparse.ArgumentParser(description=description)
    flags.add_argument("--data", default="examples/data/mnist", help="folder of the gzip IDX files")
    flags.add_argument("--epochs", type=int, default=epochs)
    flags.add_argument("--batch", type=int, default=batch)
    flags.add_argument("--threads", type=int, default=os.cpu_count())
    flags.add_argument("--images", type=int, default=60000, help="train on the first so many only")
    flags.add_argument("--seed", type=int, default=1)
    for switch in switches:
        flags.add_argument(f"--{switch}", type=int, choices=(0, 1), default=1)
    for mode in modes:
        flags.add_argument(f"--{mode}", type=int, choices=(0, 1), default=0)
    for choice in choices:
        flags.add_argument(f"--{choice}", choices=choices[choice], default=choices[choice][0])
    return flags.parse_args()


def keep_freed_memory():
    """Let glibc's malloc keep what is freed: large arrays otherwise go back to the kernel at each free,
    and every step faults its activations in again, page by page. Does nothing with another libc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return
    mmap_max, trim_threshold, top_pad, arena_max = -4, -1, -2, -8
    mallopt(mmap_max, 0)
    mallopt(trim_threshold, -1)
    mallopt(top_pad, 1 << 26)
    mallopt(arena_max, 1)


def use_openmp_blas(threads):
    """Picks the OpenMP build of OpenBLAS for this process and leaves the system's choice alone. To be called
    before the import of torch or NumPy: the environment is read once, when the libraries load, and a library
    that is loaded already satisfies their need of the same soname."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    for library in ("libblas.so.3", "liblapack.so.3"):
        for path in glob.glob(f"/usr/lib/*/openblas-openmp/{library}"):
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL)


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


def emit_passes(flags, about, run, wait):
    """A line for each epoch of passes over one batch; wait(result of the last one) returns once all are done."""
    passes = max(1, flags.images // flags.batch)
    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        for _ in range(passes):
            last = run()
        wait(last)
        seconds = time.perf_counter() - start
        emit(**about, epoch=epoch, seconds=round(seconds, 4), images=passes * flags.batch)


def emit_inference(about, predict, single, images, labels, batch):
    """Test accuracy, the time for all images in batches, and the latency of one image at a time.

    Both functions take a NumPy array, of some images and of one, and return the logits as another.
    """
    import numpy

    def whole_pass():
        return numpy.concatenate([predict(images[i: i + batch]) for i in range(0, len(images), batch)])

    accuracy = float((whole_pass().argmax(1) == labels).mean())  # also warms up
    emit(**about, test_accuracy=round(accuracy, 4))

    passes = []
    for _ in range(5):
        start = time.perf_counter()
        whole_pass()
        passes.append(time.perf_counter() - start)
    emit(**about, predict_seconds=round(statistics.median(passes), 4), predict_images=len(images),
         predict_batch=batch)

    warm_up, calls = 50, []
    for image in images[: warm_up + 1000]:
        start = time.perf_counter()
        single(image)
        calls.append(1e6 * (time.perf_counter() - start))
    calls = sorted(calls[warm_up:])
    emit(**about, single_us_median=round(statistics.median(calls), 1),
         single_us_p99=round(calls[int(0.99 * len(calls))], 1), single_calls=len(calls))
