"""Two processes that train together, glia over MPI and PyTorch's DistributedDataParallel over gloo, and how much of one
process with two threads each of them keeps."""

import datetime
import os
import shutil
import statistics

from .contest import BUILD, PEERS, TORCH2_PYTHON, Contestant, machine, run_rounds
from .scaling import AS_ROOT

PROGRAMS = ["ranks_report", "sgemm_report"]
BATCHES = [0]  # each network has its own
NETWORKS = [("mlp", "the MNIST perceptron", 100, 60000, 4), ("cnn", "the MNIST convolutional network", 1024, 20480, 4)]


def contestants(network, images, epochs):
    program = [BUILD / "benchmarks" / "ranks_report", "--network", network]
    return [Contestant("glia, 1 process", [*program, "--alone"], epochs, images),
            Contestant("glia, 2 processes", [shutil.which("mpirun") or "mpirun", "-n", "2", *program], epochs, images),
            Contestant("PyTorch 2, 1 process",
                       [TORCH2_PYTHON, PEERS / f"mnist_{network}_torch2.py", "--compiled", 0], epochs, images),
            Contestant("PyTorch 2, 2 processes", [TORCH2_PYTHON, PEERS / "mnist_ddp_torch2.py", "--network", network],
                       epochs, images)]


def compare(_batches, options):
    os.environ.update(AS_ROOT)
    out, about = [], ""
    for network, title, batch, images, epochs in NETWORKS:
        all_of_them = contestants(network, images, epochs)
        results, skipped, peaks = run_rounds(all_of_them, [batch], options)
        about = machine(peaks)[1]
        out += ["", f"## {title[0].upper() + title[1:]}, batches of {batch}", "",
                "| | epoch | spread | relative to one process | peak memory per process |",
                "| --- | --- | --- | --- | --- |"]
        medians = {}
        for contestant in all_of_them:
            if contestant.name in skipped:
                continue
            r = results[contestant.name, batch]
            times = r.epoch_seconds()
            median = medians[contestant.name] = statistics.median(times)
            library = contestant.name.partition(",")[0]
            out.append(f"| {contestant.versioned(r.last('version'))} | {median:.2f} s | "
                       f"{min(times):.2f}-{max(times):.2f} s | {median / medians[f'{library}, 1 process']:.2f} | "
                       f"{r.most('peak_mb'):.0f} MB |")
        out += [""] + [f"{name}: {reason}" for name, reason in skipped.items()]
        if "PyTorch 2, 2 processes" in medians:
            ratio = medians["PyTorch 2, 2 processes"] / medians["glia, 2 processes"]
            out += [f"On two processes PyTorch takes {ratio:.2f} times glia's time."]
    head = [f"# Two processes with one thread each, compared with one process with two threads: epochs of 60,000 "
            f"images, {datetime.date.today()}", "", about, "",
            f"Medians of {options.rounds} rounds in turns, without each process's first epoch."]
    return "\n".join(head + out) + "\n"
