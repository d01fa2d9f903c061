"""Strong scaling: the same work with 1, 2, 4 ... threads, and a prediction for more of them."""

import copy
import datetime
import os
import statistics

from . import networks, rows
from .contest import machine, measure_sgemm, run_rounds

PROGRAMS = ["mnist_mlp_report", "mnist_cnn_report", "network_report", "mobilenet_v2_report", "onnx_report", "sgemm_report"]
BATCHES = None  # each network has its own
PREDICTED = (4, 8, 16)


def thread_counts():
    """1, 2, 4 ... up to the cores of this machine."""
    cores = len(os.sched_getaffinity(0))
    counts = [1 << i for i in range(cores.bit_length()) if 1 << i <= cores]
    return counts if counts[-1] == cores else [*counts, cores]


def fitted(times):
    """The times a and b for which a + b / threads is closest to the times by the number of threads: least squares of
    relative errors, with a, b >= 0. No thread shares a, and all threads share b."""
    if len(times) < 2:
        return None
    weights = [(1 / time, 1 / (threads * time)) for threads, time in times.items()]
    aa, ab, bb = (sum(w[i] * w[j] for w in weights) for i, j in ((0, 0), (0, 1), (1, 1)))
    sums = [sum(w[i] for w in weights) for i in (0, 1)]
    alone = max(0.0, (sums[0] * bb - sums[1] * ab) / (aa * bb - ab * ab))
    shared = (sums[1] - alone * ab) / bb
    return (alone, shared) if shared >= 0 else (sums[0] / aa, 0.0)


def compare(_, options):
    counts, out = thread_counts(), []
    measured = [*rows.digits(), *map(rows.network, networks.COMPARISONS), *rows.files()]
    for row in measured:
        own = [contestant for contestant in row.contestants if contestant.name == "glia"]
        times, transfers = {}, []
        for threads in counts:
            of_threads = copy.copy(options)
            of_threads.threads = threads
            results, skipped, peaks = run_rounds(own, [row.batch], of_threads)
            transfers += [peak["transfer_ns"] for peak in peaks if threads > 1]
            if not skipped:
                times[threads] = statistics.median(results["glia", row.batch].epoch_seconds()) / 60 * row.batch
        if 1 not in times:
            continue
        cells = [row.title, row.batch, f"{statistics.median(transfers):.0f} ns" if transfers else "", f"{times[1]:.2f} ms",
                 *(f"{times[1] / times[threads]:.2f}" if threads in times else "" for threads in counts[1:])]
        if model := fitted(times):
            serial, shared = model
            cells += [f"{100 * serial / (serial + shared):.0f} %",
                      *(f"{times[1] / (serial + shared / threads):.1f}" for threads in PREDICTED if threads > counts[-1])]
        out.append(f"| {' | '.join(map(str, cells))} |")
    _, about = machine([measure_sgemm(counts[-1])])
    columns = ["network", "batch", "cache line to another core", "1 thread", *(f"{threads} threads, times as fast" for threads in counts[1:])]
    if len(counts) > 1:
        columns += ["not shared", *(f"{threads} threads, model" for threads in PREDICTED if threads > counts[-1])]
    head = [f"# More threads, {datetime.date.today()}", "", about, "",
            f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    tail = ["", f"Medians of {options.rounds} rounds, without each process's first epoch. The model is a time that no threads "
            "share, and one that all", "share equally (Amdahl); it knows nothing of the bandwidth of memory, nor of cores "
            "that slow down together. A cache line to another core takes longer if the cores are on different dies.",
            "Virtual machines can move between the two, row by row."]
    return "\n".join(head + out + tail) + "\n"
