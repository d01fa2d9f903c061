"""Networks so small that the time between their products counts, beside PyTorch and JAX, and the figures that others have
published for them."""

import datetime
import statistics

from .contest import BUILD, PEER_PYTHON, PEERS, TORCH2_PYTHON, Contestant, fastest_peer, machine, run_rounds

PROGRAMS = ["network_report", "sgemm_report"]
BATCHES = None  # each network has its own

# What is timed, samples at a time, samples in an epoch of the measurement, passes that a row shows, and what others
# have published.
NETWORKS = {
    "lenet": ("LeNet-5 on MNIST, Adam: 10 epochs", 2048, 60000, 10 * 60000 / 2048,
              "SimpleChains.jl 5.3 s (4-core laptop), 1.2 s (18 cores); PyTorch 11 to 15 s there"),
    "gradient": ("24-8-2, tanh, 200 rows: a step of gradient descent", 200, 2_000_000, 1,
                 "SimpleChains.jl 5.66 µs, the gradient alone"),
    "exponential": ("4-32-16-4, tanh, 200 rows, the exponential of 2x2 matrices: 10,000 steps of Adam", 200, 2_000_000,
                    10000, "SimpleChains.jl 0.41 s"),
    "table": ("54-128-128-7, ReLU, 512 rows of a table: a step of Adam", 512, 2_000_000, 1, ""),
    "lstm_stream": ("LSTM of 20 units, one sample of a sound", 1, 50_000, 1, ""),
}


def contestants(network, images):
    torch = [TORCH2_PYTHON, PEERS / "small_torch2.py", "--network", network]
    return [Contestant("glia", [BUILD / "benchmarks" / "network_report", "--network", network], 4, images),
            Contestant("PyTorch 2, eager", [*torch, "--compiled", 0], 3, images),
            Contestant("PyTorch 2, compiled", [*torch, "--compiled", 1], 3, images),
            Contestant("JAX", [PEER_PYTHON, PEERS / "small_jax.py", "--network", network], 3, images)]


def shown(seconds):
    return (f"{seconds:.2f} s" if seconds >= 0.1 else f"{1e3 * seconds:.2f} ms" if seconds >= 1e-3
            else f"{1e6 * seconds:.1f} µs")


def compare(_, options):
    out, peaks, notes, skipped = [], [], [], {}
    for network, (title, batch, images, passes, published) in NETWORKS.items():
        every = contestants(network, images)
        results, left_out, measured = run_rounds(every, [batch], options)
        peaks += measured
        skipped |= left_out
        medians = {}
        for one in every:
            if (one.name, batch) in results:
                r = results[one.name, batch]
                times = [seconds / 60000 * batch * passes for seconds in r.epoch_seconds()]
                medians[one.name] = statistics.median(times)
                out.append(f"| {title} | {one.versioned(r.last('version'))} | {shown(medians[one.name])} | "
                           f"{medians[one.name] / medians['glia']:.2f} | {shown(min(times))} to {shown(max(times))} | "
                           f"{r.most('peak_mb'):.0f} MB |")
        notes.append(f"- {title}. {fastest_peer(medians, 'here')}{' Published: ' + published + '.' if published else ''}")
    _, about = machine(peaks)
    head = [f"# Small networks, {options.threads} threads, {datetime.date.today()}", "", about, "",
            "| network | | time | relative | spread | peak memory |", "| --- | --- | --- | --- | --- | --- |"]
    tail = ["", f"Medians of {options.rounds} rounds in turns, without each process's first epoch.", "", *notes]
    tail += [f"{name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(head + out + tail) + "\n"
