"""Networks in ONNX files, run by glia, ONNX Runtime and OpenVINO."""

import datetime
import statistics
import subprocess

from .contest import BUILD, PEER_PYTHON, PEERS, Contestant, machine, run_rounds

PROGRAMS = ["onnx_report", "sgemm_report"]
BATCHES = None  # each network has its own

# What is run: samples at a time, and how many in all for each measurement.
NETWORKS = {
    "perceptron": ("MNIST's perceptron, 784-400-400-500-10", {1: 4000, 250: 50000}),
    "convolutional_network": ("MNIST's convolutional network", {1: 4000, 250: 25000}),
    "gru": ("GRU 128 over sequences (25, 256)", {1: 4000, 32: 16000}),
    "mobilenet_v2": ("MobileNetV2 at 224x224", {1: 200, 32: 320}),
}
WANTED = 1.3


def contestants(file, images):
    peer = [PEER_PYTHON, PEERS / "onnx_file.py", "--file", file, "--runtime"]
    return [Contestant("glia", [BUILD / "benchmarks" / "onnx_report", "--file", file], 4, images),
            Contestant("ONNX Runtime", [*peer, "onnxruntime"], 4, images),
            Contestant("OpenVINO", [*peer, "openvino"], 4, images)]


def compare(batches, options):
    folder = BUILD / "benchmarks" / "onnx"
    subprocess.run([str(BUILD / "benchmarks" / "onnx_report"), "--write", str(folder)], check=True)
    out, peaks, skipped = [], [], {}
    for network, (title, runs) in NETWORKS.items():
        for batch, images in runs.items():
            if batches and batch not in batches:
                continue
            every = contestants(folder / f"{network}.onnx", images)
            results, left_out, measured = run_rounds(every, [batch], options)
            peaks += measured
            skipped |= left_out
            rows, medians, memory = [], {}, {}
            for one in every:
                if (one.name, batch) not in results:
                    continue
                r = results[one.name, batch]
                times = [seconds / 60 * batch for seconds in r.epoch_seconds()]
                medians[one.name], memory[one.name] = statistics.median(times), r.most("peak_mb")
                rows.append((one.versioned(r.last("version")), times, one.name))
            peers = [name for name in medians if name != "glia"]
            gain = min(medians[name] for name in peers) / medians["glia"] if peers else float("nan")
            least = min(memory[name] for name in peers) if peers else float("nan")
            for name, times, key in rows:
                out.append(f"| {title} | {batch} | {name} | {medians[key]:.3f} ms | "
                           f"{medians[key] / medians['glia']:.2f} | {min(times):.3f}-{max(times):.3f} ms | "
                           f"{memory[key]:.0f} MB |")
            out.append(f"| | | *the faster peer / glia* | | **{gain:.2f}** | | *{memory['glia'] / least:.2f} "
                       "of the smaller peer's* |")
    _, about = machine(peaks)
    head = [f"# Networks in ONNX files in single precision, {options.threads} threads, {datetime.date.today()}", "",
            about, "", "| network | samples at a time | | a pass | relative | spread | peak memory |",
            "| --- | --- | --- | --- | --- | --- | --- |"]
    tail = ["", f"Medians of {options.rounds} rounds in turns, without each process's first measurement; "
            "OpenVINO in one stream or in one for each thread, whichever is faster."]
    tail += [f"{name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(head + out + tail) + "\n"
