"""Steps that 1, 2 and 4 ranks take together on this machine, and what a model makes of them for 8 to 256.

The time of a step on R ranks is taken to be

    a + c n + max((1 - h) S, S - 2/3 c n)    with    S = 2 B (R - 1) L + 2 (R - 1) / R V / W

for n samples on each rank, V bytes of gradients in B buckets, a message's latency L, W bytes a second, and the share h
of the sums' time S that the backward pass hides, of whose two thirds of the computing it cannot hide more. a and c come
from one rank's steps with batches of several sizes; L and W are measured between ranks here, or given for a network.
"""

import datetime
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass

from .contest import BUILD, cpu_facts, processor

PROGRAMS = ["ranks_report"]
BATCHES = [0]  # each network has its own
MEASURED_RANKS = [1, 2, 4]
PREDICTED_RANKS = [8, 16, 32, 64, 128, 256]
BUCKET_BYTES = 1 << 20
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # as containers do


@dataclass
class Network:
    name: str
    title: str
    batch: int
    steps: int
    limit: float  # how many times as long two ranks of one thread may take as one of two


NETWORKS = [Network("mlp", "the MNIST perceptron", 100, 300, 1.15),
            Network("cnn", "the MNIST convolutional network", 1024, 25, 1.06),
            Network("mobilenet_v2", "MobileNetV2's features of photos", 128, 2, 1.06)]


@dataclass
class Link:
    """What carries messages between ranks."""

    name: str
    latency: float  # seconds
    rate: float  # bytes a second

    def seconds(self, ranks, value_bytes, buckets):
        if ranks == 1:
            return 0
        return 2 * buckets * (ranks - 1) * self.latency + 2 * (ranks - 1) / ranks * value_bytes / self.rate


def run(ranks, network, *flags, steps=None, batch=None):
    """The line that the ranks print."""
    program = [str(BUILD / "benchmarks" / "ranks_report"), "--network", network.name, "--batch",
               str(batch or network.batch), "--steps", str(steps or network.steps), *map(str, flags)]
    launcher = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
    done = subprocess.run(launcher + program, env={**os.environ, **AS_ROOT}, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(launcher + program)} failed:\n{done.stderr}")
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])


FORMS = {
    "1 rank, 2 threads": (1, ["--threads", 2, "--alone"]),
    "1 rank, 1 thread": (1, ["--threads", 1, "--alone"]),
    "1 rank, 2 threads, 8 pieces": (1, ["--threads", 2, "--reproducible"]),
    "2 ranks": (2, ["--threads", 2]),
    "2 ranks, 8 pieces": (2, ["--threads", 2, "--reproducible"]),
    "2 ranks, messages": (2, ["--threads", 2, "--share-memory", 0]),
    "2 ranks, messages, nothing hidden": (2, ["--threads", 2, "--share-memory", 0, "--overlap", 0]),
    "2 ranks, messages in bfloat16": (2, ["--threads", 2, "--share-memory", 0, "--bfloat16"]),
    "4 ranks on the same cores": (4, ["--threads", 2]),
}


def forms_of(network):
    plain = [name for name in FORMS if "," not in name.replace("1 rank,", "") or network.name != "mobilenet_v2"]
    return [name for name in plain if network.name != "mobilenet_v2" or "pieces" not in name]


def measure(options):
    """Times by (network, form), and what else a form printed; in turns."""
    times, facts = {}, {}
    for number in range(1, options.rounds + 1):
        for network in NETWORKS:
            for form in forms_of(network):
                print(f"round {number}/{options.rounds}: {network.name}, {form}", file=sys.stderr)
                ranks, flags = FORMS[form]
                line = run(ranks, network, *flags)
                times.setdefault((network.name, form), []).append(line["step_ms"])
                facts.setdefault((network.name, form), []).append(line)
    return times, facts


def computing(network, options):
    """a and c, in seconds, of steps of one rank: by least squares over batches of several sizes."""
    sizes = [max(network.batch // part, 1) for part in (1, 2, 4, 8)]
    rows = []
    for size in sizes:
        took = [run(1, network, "--threads", 1, "--alone", batch=size)["step_ms"] for _ in range(options.rounds)]
        rows.append((size, statistics.median(took) / 1e3))
    mean_n = statistics.mean(n for n, _ in rows)
    mean_t = statistics.mean(t for _, t in rows)
    slope = sum((n - mean_n) * (t - mean_t) for n, t in rows) / sum((n - mean_n) ** 2 for n, _ in rows)
    return max(mean_t - slope * mean_n, 0), slope


def table(header, rows):
    lines = [f"| {' | '.join(map(str, row))} |" for row in [header, *rows]]
    return [lines[0], "| --- " * len(header) + "|", *lines[1:], ""]


def measured_tables(times, facts):
    out = []
    for network in NETWORKS:
        rows = []
        for form in forms_of(network):
            took = times[network.name, form]
            ratios = [a / b for a, b in zip(took, times[network.name, "1 rank, 2 threads"])]
            last = facts[network.name, form]
            sent = last[-1].get("bytes", 0)
            rows.append([form, f"{statistics.median(took):.2f} ms", f"{min(took):.2f}-{max(took):.2f} ms",
                         f"{statistics.median(ratios):.2f}",
                         f"{statistics.median(line.get('waited_ms', 0) for line in last):.2f} ms",
                         f"{sent / 1e6:.2f} MB", last[-1].get("messages", "")])
        what = "a pass" if network.name == "mobilenet_v2" else "a step"
        out += [f"## {network.title[0].upper() + network.title[1:]}, {network.batch} samples in total", ""]
        out += table(["", what, "spread", "relative to 1 rank, 2 threads", "wait of the last rank", "sent per rank",
                      "messages"], rows)
        two = statistics.median(a / b for a, b in zip(times[network.name, "2 ranks"],
                                                      times[network.name, "1 rank, 2 threads"]))
        out += [f"Two ranks with one thread each take {two:.2f} times as long as one rank with two threads; "
                f"the goal is at most {network.limit}.", ""]
    return out


def hidden_share(facts):
    """How much of the sums, sent as messages, the convolutional network's backward pass hides."""
    def waited(form):
        return statistics.median(line["waited_ms"] for line in facts["cnn", form])
    return 1 - waited("2 ranks, messages") / waited("2 ranks, messages, nothing hidden")


def predicted_step(fixed, computed, sums, hidden):
    """Seconds of a step, of whose computing two thirds are the backward pass."""
    return fixed + computed + max((1 - hidden) * sums, sums - computed * 2 / 3)


def predictions(facts, links, hidden, options):
    out = []
    for network in NETWORKS[:2]:
        fixed, each = computing(network, options)
        value_bytes = 4 * facts[network.name, "2 ranks"][-1]["parameters"]
        took = statistics.median(line["step_ms"] for line in facts[network.name, "2 ranks, messages"]) / 1e3
        out += predicted_table(network, fixed, each, value_bytes, links, hidden)
        out += [measured_beside(fixed + each * network.batch, took), ""]
    return out + predicted_pass(NETWORKS[2], facts, links)


def measured_beside(alone, took):
    return (f"Measured: two ranks that send messages on this machine are {alone / took:.1f} times as fast as one. "
            "Without a network card, sending takes time of the cores that compute; the model does not include this.")


def predicted_table(network, fixed, each, value_bytes, links, hidden):
    buckets = max(round(value_bytes / BUCKET_BYTES), 1)
    alone = fixed + each * network.batch
    out = [f"## {network.title[0].upper() + network.title[1:]}, predicted", "",
            f"A step of n samples takes {1e3 * fixed:.3f} ms + {1e6 * each:.2f} us n on one rank of one thread; "
            f"{value_bytes / 1e6:.2f} MB of gradients in {buckets} "
            f"bucket{'s' if buckets > 1 else ''}. {100 * hidden:.0f} % of the communication is hidden, as far as the "
            f"backward pass lasts. The table gives the speed relative to one rank, with {network.batch} samples in "
            f"total, and in parentheses with {network.batch} for each rank:", ""]
    rows = []
    for link in links:
        cells, best = [], (1, 1)
        for ranks in [2, *PREDICTED_RANKS]:
            sums = link.seconds(ranks, value_bytes, buckets)
            strong = alone / predicted_step(fixed, each * network.batch / ranks, sums, hidden)
            weak = ranks * alone / predicted_step(fixed, each * network.batch, sums, hidden)
            cells.append(f"{strong:.1f} ({weak:.0f})")
            best = max(best, (strong, ranks))
        pays = f"up to {best[1]}" if best[1] > 1 else "never"
        rows.append([link.name, *cells, pays])
    return out + table(["link", *(f"{ranks} ranks" for ranks in [2, *PREDICTED_RANKS]), "more ranks help"], rows)


def predicted_pass(network, facts, links):
    one = statistics.median(line["step_ms"] for line in facts[network.name, "1 rank, 1 thread"]) / 1e3
    outputs = 4 * 1280
    out = [f"## {network.title[0].upper() + network.title[1:]}, predicted", "",
           f"A photo takes {1e3 * one / network.batch:.1f} ms on one rank of one thread, and {outputs} bytes of "
            "features go to all other ranks. The table gives the speed relative to one rank:", ""]
    rows = []
    for link in links:
        cells = []
        for ranks in [2, *PREDICTED_RANKS]:
            batch = 32 * one / network.batch
            gathered = (ranks - 1) * (link.latency + 32 * outputs / link.rate)
            cells.append(f"{ranks * batch / (batch + gathered):.1f}")
        rows.append([link.name, *cells])
    return out + table(["link", *(f"{ranks} ranks" for ranks in [2, *PREDICTED_RANKS])], rows)


def compare(_batches, options):
    messages = Network("messages", "", 1, 1, 0)
    lines = [run(2, messages) for _ in range(options.rounds)]
    here = Link("shared memory, measured here", statistics.median(line["latency_us"] for line in lines) / 1e6,
                statistics.median(line["bytes_per_second"] for line in lines))
    links = [here, *(Link(name, float(latency) / 1e6, float(rate) * 1e9 / 8)
                     for name, latency, rate in (one.split(":") for one in options.link))]
    times, facts = measure(options)
    hidden = min(max(hidden_share(facts), 0), 1)
    out = [f"# Ranks on one machine, and predictions for more ranks, {datetime.date.today()}", "",
           f"{processor(cpu_facts())}; medians of {options.rounds} rounds in turns. Ratios are medians of "
           "the ratios in each round.", "",
           *measured_tables(times, facts),
           "The last rank to reach a sum waits only for the sum; the others also wait for this rank. If sums are "
           f"sent as messages, the backward pass of the convolutional network hides {100 * hidden:.0f} % of them.", "",
           "# Predicted, not measured", "",
           f"A message between ranks takes {1e6 * here.latency:.1f} us here, at {here.rate / 1e9:.1f} GB/s. The "
           "latency and rate of the other links are assumed, not measured. The sums are the only communication that "
           "is counted.", "",
           *predictions(facts, links, hidden, options)]
    return "\n".join(out).rstrip() + "\n"
