"""MobileNetV2 as a feature extractor: milliseconds for the features of one image, computed in batches."""

import datetime
import statistics

from .contest import (BUILD, PEER_PYTHON, PEERS, SYSTEM_PYTHON, TORCH2_PYTHON, Contestant, fastest_peer,
                      machine, run_rounds)

PROGRAMS = ["mobilenet_v2_report", "sgemm_report"]
BATCHES = [32]

FLOPS_PER_IMAGE = 599.0e6  # the convolutions' multiply-adds, two operations each

ONNX = [PEER_PYTHON, PEERS / "mobilenet_v2_onnx.py"]
TORCH2 = [TORCH2_PYTHON, PEERS / "mobilenet_v2_torch2.py"]
TORCH = [SYSTEM_PYTHON, PEERS / "mobilenet_v2_torch.py"]
CONTESTANTS = [
    Contestant("glia", [BUILD / "benchmarks" / "mobilenet_v2_report"], 6, 256),
    Contestant("Keras, frozen constants", [PEER_PYTHON, PEERS / "mobilenet_v2_keras.py"], 4, 256),
    Contestant("PyTorch, optimize_for_inference", TORCH, 4, 256),
    Contestant("PyTorch, plain, channels_last", [*TORCH, "--optimized", "0", "--nchw", "0"], 4, 256),
    Contestant("PyTorch, plain", [*TORCH, "--optimized", "0"], 4, 256),
    Contestant("PyTorch 2, traced and frozen", [*TORCH2, "--compiled", 0], 4, 256),
    Contestant("PyTorch 2, compiled, frozen constants", [*TORCH2, "--compiled", 1], 4, 256),
    Contestant("OpenVINO, a stream for each thread", [*ONNX, "--openvino", 1], 4, 256),
    Contestant("ONNX Runtime", [*ONNX, "--openvino", 0], 4, 256),
]


def compare(batches, options):
    results, skipped, peaks = run_rounds(CONTESTANTS, batches, options)
    peak, about = machine(peaks)
    out = [f"MobileNetV2's features (width 1, 224x224, batch normalisation folded), {options.threads} threads, "
           f"{datetime.date.today()}", about, "",
           "| batch | | per image | relative | spread | GFLOP/s | share of the matrix product's rate | "
           "peak memory |", "| --- " * 8 + "|"]
    for batch in batches:
        medians = {}
        for contestant in CONTESTANTS:
            if (contestant.name, batch) not in results:
                continue
            r = results[contestant.name, batch]
            times = [seconds / 60 for seconds in r.epoch_seconds()]  # ms an image, as 60,000 are counted
            median = statistics.median(times)
            medians[contestant.name] = median
            rate = FLOPS_PER_IMAGE / median / 1e6
            out.append(f"| {batch} | {contestant.versioned(r.last('version'))} | {median:.2f} ms | "
                       f"{median / medians['glia']:.2f} | {min(times):.2f}-{max(times):.2f} ms | {rate:.0f} | "
                       f"{100 * rate / peak:.0f} % | {r.most('peak_mb'):.0f} MB |")
        out += ["", fastest_peer(medians, f"at batch {batch}")]
    out += ["", f"Medians of {options.rounds} rounds in turns, 256 images in each pass, the first pass left out; "
            f"{FLOPS_PER_IMAGE / 1e6:.0f} MFLOP an image."]
    out += [f"{name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(out) + "\n"
