"""Times while another program keeps one core busy, beside times on a quiet machine."""

import contextlib
import dataclasses
import datetime
import os
import statistics
import subprocess
import sys

from . import rows
from .contest import machine, run_rounds

PROGRAMS = ["mnist_mlp_report", "mnist_cnn_report", "network_report", "onnx_report", "sgemm_report"]
BATCHES = None  # each network has its own


@contextlib.contextmanager
def busy_core():
    """A program that never rests on the last core, in a session of its own, as a program that somebody else started."""
    core = max(os.sched_getaffinity(0))
    program = f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as other:
        try:
            yield
        finally:
            other.kill()


def compare(_, options):
    out, skipped, peaks = [], {}, []
    for row in [*rows.digits(), rows.network("gru", "GRU 128 over sequences (25, 256), training"), *rows.files()]:
        pairs = [(one, dataclasses.replace(one, name=f"{one.name}, one core busy", beside=busy_core)) for one in row.contestants]
        results, left_out, measured = run_rounds([one for pair in pairs for one in pair], [row.batch], options)
        skipped |= {f"{name}, {row.title}": reason for name, reason in left_out.items()}
        peaks += measured
        times = {name: statistics.median(r.epoch_seconds()) / 60 * row.batch for (name, _), r in results.items()}
        reference = times.get(pairs[0][1].name, float("nan"))
        for one, beside_other in pairs:
            if one.name in times and beside_other.name in times:
                quiet, busy = times[one.name], times[beside_other.name]
                version = results[one.name, row.batch].last("version")
                out.append(f"| {row.title} | {row.batch} | {one.versioned(version)} | {quiet:.2f} ms | {busy:.2f} ms | "
                           f"{busy / quiet:.2f} | {busy / reference:.2f} |")
    _, about = machine(peaks)
    head = [f"# With one core busy, {options.threads} threads, {datetime.date.today()}", "", about, "",
            "| network | batch | | quiet | one core busy | busy / quiet | busy / glia's busy |",
            "| --- | --- | --- | --- | --- | --- | --- |"]
    tail = ["", f"Medians of {options.rounds} rounds in turns, without each process's first epoch. The other program, of a "
            "session of its own,", "never rests on the last core."]
    tail += [f"{name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(head + out + tail) + "\n"
