"""Times while another program keeps one core busy, beside times on a quiet machine."""

import contextlib
import datetime
import os
import statistics
import subprocess
import sys

from . import rows
from .contest import Results, better_core, machine, measure_sgemm, run_once

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
        results, left_out = {}, {}
        for _ in range(options.rounds):
            peaks.append(measure_sgemm(options.threads, better_core()))
            for contestant in row.contestants:
                for state in (contextlib.nullcontext, busy_core):
                    if contestant.name in left_out:
                        continue
                    print(f"{row.title}: {contestant.name}{', busy' if state is busy_core else ''}", file=sys.stderr)
                    with state():
                        lines, reason = run_once(contestant, row.batch, options)
                    if lines is None:
                        left_out[contestant.name] = reason
                        continue
                    results.setdefault((contestant.name, state is busy_core), Results()).add(lines)
        skipped |= {f"{name}, {row.title}": reason for name, reason in left_out.items()}
        times = {key: statistics.median(r.epoch_seconds()) / 60 * row.batch for key, r in results.items()}
        for contestant in row.contestants:
            if (contestant.name, True) not in times or ("glia", True) not in times:
                continue
            quiet, busy = times[contestant.name, False], times[contestant.name, True]
            version = results[contestant.name, True].last("version")
            out.append(f"| {row.title} | {row.batch} | {contestant.versioned(version)} | {quiet:.2f} ms | {busy:.2f} ms | "
                       f"{busy / quiet:.2f} | {busy / times['glia', True]:.2f} |")
    _, about = machine(peaks)
    head = [f"# With one core busy, {options.threads} threads, {datetime.date.today()}", "", about, "",
            "| network | batch | | quiet | one core busy | busy / quiet | busy / glia's busy |",
            "| --- | --- | --- | --- | --- | --- | --- |"]
    tail = ["", f"Medians of {options.rounds} rounds in turns, without each process's first epoch. The other program, of a "
            "session of its own,", "never rests on the last core."]
    tail += [f"{name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(head + out + tail) + "\n"
