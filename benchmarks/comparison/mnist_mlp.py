"""The MNIST perceptron: one table for one batch size."""

import datetime
import statistics

from .contest import (BUILD, GLIA_BFLOAT16, PEER_BFLOAT16, PEER_PYTHON, PEERS, SYSTEM_PYTHON, TORCH2_PYTHON,
                      Contestant, fastest_peer, in_bfloat16, machine, run_rounds)

PROGRAMS = ["mnist_mlp_report", "sgemm_report"]
BATCHES = [100]

# Multiply-adds of 784-400-400-500-10, forward and both adjoints: what a step is usually taken to cost.
FLOPS_PER_IMAGE = 3 * 2 * (784 * 400 + 400 * 400 + 400 * 500 + 500 * 10)

TORCH2 = [TORCH2_PYTHON, PEERS / "mnist_mlp_torch2.py"]
CONTESTANTS = [
    Contestant("glia", [BUILD / "benchmarks" / "mnist_mlp_report"], 4, bfloat16=GLIA_BFLOAT16),
    Contestant("TensorFlow/Keras", [PEER_PYTHON, PEERS / "mnist_mlp_keras.py"], 4, bfloat16=PEER_BFLOAT16),
    Contestant("PyTorch", [SYSTEM_PYTHON, PEERS / "mnist_mlp_torch.py"], 3),
    Contestant("PyTorch 2, eager", [*TORCH2, "--compiled", 0], 4, bfloat16=PEER_BFLOAT16),
    Contestant("PyTorch 2, compiled", [*TORCH2, "--compiled", 1], 4, bfloat16=PEER_BFLOAT16),
    Contestant("tiny-dnn", [BUILD / "peers" / "mnist_mlp_tiny_dnn"], 2, 1000),
]


def compare(batches, options):
    return "\n".join(table(batch, options) for batch in batches)


def table(batch, options):
    every = in_bfloat16(CONTESTANTS) if options.bfloat16 else CONTESTANTS
    results, skipped, peaks = run_rounds(every, [batch], options)
    peak, about = machine(peaks)
    seconds = {name: statistics.median(r.epoch_seconds()) for (name, _), r in results.items()}
    out = [f"# MNIST perceptron 784-400-400-500-10, Adam, batch {batch}{', bfloat16' if options.bfloat16 else ''}, "
           f"{options.threads} threads, {datetime.date.today()}", "", about, "",
           "| | epoch | spread | images/s | epoch / glia's | of sgemm | peak memory | BLAS |",
           "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for contestant in every:
        name = contestant.name
        if name not in seconds:
            continue
        result = results[name, batch]
        spread = result.epoch_seconds()
        rate = FLOPS_PER_IMAGE * 60000 / seconds[name] / 1e9
        out.append(f"| {contestant.versioned(result.last('version'))} | {seconds[name]:.2f} s "
                   f"| {min(spread):.2f}-{max(spread):.2f} | {60000 / seconds[name]:,.0f} "
                   f"| {seconds[name] / seconds['glia']:.2f} | {100 * rate / peak:.0f} % "
                   f"| {result.most('peak_mb'):.0f} MB | {result.last('blas')} |")
    out += ["", fastest_peer(seconds, "in an epoch"), "",
            "'of sgemm' is the rate of a dense step, 407 MFLOP for 100 images, relative to the matrix "
            "product. It can exceed 100 %,", "because glia skips products with zeros, which are frequent "
            "after ReLU and in the images, and the first layer's input gradient."]
    if "tiny-dnn" in seconds:
        out.append("tiny-dnn was timed on 1,000 images and scaled.")
    out += [f"{name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(out) + "\n"
