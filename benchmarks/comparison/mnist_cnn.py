"""The MNIST convolutional network: seconds and microseconds against the batch size, in the layout in
which its first users reported GPUs and TPUs, whose figures stand beside."""

import datetime
import statistics

from .contest import (BUILD, PEER_PYTHON, PEERS, SYSTEM_PYTHON, TORCH2_PYTHON, Contestant, fastest_peer,
                      machine, run_rounds)

PROGRAMS = ["mnist_cnn_report", "sgemm_report"]
BATCHES = [256, 512, 1024]

# Multiply-adds of the two convolutions and the two dense layers, forward, to the kernel and, but for the
# first layer, to the input: what the cost backend counts for a dense step.
CONVOLUTION_1 = 2 * 28 * 28 * 64 * 4
CONVOLUTION_2 = 2 * 14 * 14 * 32 * 256
DENSE = 2 * (1568 * 256 + 256 * 10)
FLOPS_PER_IMAGE = 2 * CONVOLUTION_1 + 3 * (CONVOLUTION_2 + DENSE)

ONNX = [PEER_PYTHON, PEERS / "mnist_cnn_onnx.py"]
TORCH2 = [TORCH2_PYTHON, PEERS / "mnist_cnn_torch2.py"]
REPORT = BUILD / "benchmarks" / "mnist_cnn_report"
CONTESTANTS = [
    Contestant("glia", [REPORT], 4),
    Contestant("glia, not depth-first", [REPORT, "--depth-first", "false"], 3),
    Contestant("glia, reference loops", [REPORT, "--device", "reference"], 2, 256),
    Contestant("Keras with XLA", [PEER_PYTHON, PEERS / "mnist_cnn_keras.py", "--xla", "1"], 2),
    Contestant("Keras without XLA", [PEER_PYTHON, PEERS / "mnist_cnn_keras.py", "--xla", "0"], 2),
    Contestant("PyTorch", [SYSTEM_PYTHON, PEERS / "mnist_cnn_torch.py"], 2),
    Contestant("PyTorch 2, eager", [*TORCH2, "--compiled", 0], 2),
    Contestant("PyTorch 2, compiled", [*TORCH2, "--compiled", 1], 2),
    Contestant("tiny-dnn", [BUILD / "peers" / "mnist_cnn_tiny_dnn"], 2, 256),
    Contestant("OpenVINO", [*ONNX, "--openvino", 1], 0),
    Contestant("ONNX Runtime", [*ONNX, "--openvino", 0], 0),
]

# As reported for Keras on Colab: seconds an epoch, microseconds an image in a step.
REPORTED = {"GPU": {256: (6, 94), 512: (5, 82), 1024: (4, 79)},
            "TPU": {256: (6, 97), 512: (3, 58), 1024: (2, 37)}}


def compare(batches, options):
    results, skipped, peaks = run_rounds(CONTESTANTS, batches, options)
    peak, about = machine(peaks)
    run = [c for c in CONTESTANTS if (c.name, batches[0]) in results]
    names = [c.name for c in run if c.epochs]  # of those that train; the others only predict
    seconds = {key: statistics.median(r.epoch_seconds()) for key, r in results.items() if key[0] in names}
    out = ["# MNIST convolutional network (conv 64 2x2, pool, conv 32 2x2, pool, dense 256, dense 10; "
           f"dropout; Adam), {options.threads} threads, {datetime.date.today()}", "", about, "",
           "Medians over the epochs after the first one. The times for GPU and TPU are those reported "
           "for Keras on Colab.", "",
           row(["batch", *[f"epoch, {n}" for n in [*names, *REPORTED]]]), rule(names)]
    for batch in batches:
        out.append(row([batch, *[f"{seconds[n, batch]:.2f} s" for n in names],
                        *[f"{device[batch][0]} s" if batch in device else ""
                          for device in REPORTED.values()]]))
    out += ["", row(["batch", *[f"per image, {n}" for n in [*names, *REPORTED]]]), rule(names)]
    for batch in batches:
        out.append(row([batch, *[f"{seconds[n, batch] / 0.06:.0f} µs" for n in names],
                        *[f"{device[batch][1]} µs" if batch in device else ""
                          for device in REPORTED.values()]]))
    out += ["", row(["batch", "fastest peer / glia", "glia's spread", "bound: dense FLOP at the sgemm rate",
                     "glia / bound"]), "| --- " * 5 + "|"]
    peers = [n for n in names if not n.startswith("glia")]
    bound = FLOPS_PER_IMAGE * 60000 / peak / 1e9
    for batch in batches:
        mine = seconds["glia", batch]
        fastest = min((seconds[n, batch] for n in peers), default=None)
        spread = results["glia", batch].epoch_seconds()
        out.append(row([batch, f"{fastest / mine:.1f}" if fastest else "no peer",
                        f"{min(spread):.2f}-{max(spread):.2f} s", f"{bound:.2f} s", f"{mine / bound:.2f}"]))
    out += ["", row(["", "10,000 images", "/ glia's", "one image, median", "99th percentile", "/ glia's",
                     f"peak memory at {batches[-1]}"]), "| --- " * 7 + "|"]
    measured = {c.name: predictions(results, c.name, batches) for c in run}
    own = measured["glia"]
    for contestant in run:
        whole, one, tail = measured[contestant.name]
        last = results[contestant.name, batches[-1]]
        out.append(row([contestant.versioned(last.last("version")), f"{1000 * whole:.0f} ms",
                        f"{whole / own[0]:.2f}", f"{one:.0f} µs", f"{tail:.0f} µs", f"{one / own[1]:.2f}",
                        f"{last.most('peak_mb'):.0f} MB"]))
    out += ["", fastest_peer({name: m[0] for name, m in measured.items()}, "with 10,000 images"),
            fastest_peer({name: m[1] for name, m in measured.items()}, "with one image"),
            "OpenVINO and ONNX Runtime predict only, with random weights."]
    out += ["", f"The bound assumes {FLOPS_PER_IMAGE / 1e6:.1f} MFLOP per image, with all products dense. glia skips "
            "products with a factor of zero:", "three in four positions before a max pooling, "
            "values that ReLU cut, windows of the black background."]
    few = [c for c in run if c.images < 60000]
    out += [f"{c.name} was timed on {c.images} images and scaled." for c in few]
    out += [f"{name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(out) + "\n"


def predictions(results, name, batches):
    """Seconds for 10,000 images, microseconds for one, median and 99th percentile."""
    runs = [results[name, batch] for batch in batches]
    whole = statistics.median(r.median("predict_seconds") * 10000 / r.last("predict_images") for r in runs)
    return (whole, statistics.median(r.median("single_us_median") for r in runs),
            statistics.median(r.median("single_us_p99") for r in runs))


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def rule(names):
    return "| --- " * (1 + len(names) + len(REPORTED)) + "|"
