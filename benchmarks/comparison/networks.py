"""Networks whose passes over one batch are timed: a recurrent layer's or Xception's training steps, ResNet152V2's
features."""

import datetime
import statistics
from dataclasses import dataclass

from .contest import BUILD, PEER_PYTHON, PEERS, TORCH2_PYTHON, Contestant, fastest_peer, machine, run_rounds


def contestants(network, images, keras):
    """glia, PyTorch and Keras on so many images an epoch; keras are the flags of its forms."""
    torch = [TORCH2_PYTHON, PEERS / "network_torch2.py", "--network", network]
    of_keras = [PEER_PYTHON, PEERS / "network_keras.py", "--network", network]
    return [Contestant("glia", [BUILD / "benchmarks" / "network_report", "--network", network], 4, images),
            Contestant("PyTorch 2, eager", [*torch, "--compiled", 0], 3, images),
            Contestant("PyTorch 2, compiled", [*torch, "--compiled", 1], 3, images),
            *(Contestant(f"Keras, {name}", [*of_keras, *form], 3, images) for name, form in keras.items())]


@dataclass
class Comparison:
    """What is compared, at which batches, and what one pass over a batch is called."""

    title: str
    BATCHES: list
    pass_name: str
    contestants: list

    PROGRAMS = ("network_report", "sgemm_report")

    def compare(self, batches, options):
        results, skipped, peaks = run_rounds(self.contestants, batches, options)
        _, about = machine(peaks)
        out = [f"{self.title}, {options.threads} threads, {datetime.date.today()}", about, "",
               f"| batch | | {self.pass_name} | relative | spread | peak memory |", "| --- " * 6 + "|"]
        for batch in batches:
            medians = {}
            for contestant in self.contestants:
                if (contestant.name, batch) not in results:
                    continue
                r = results[contestant.name, batch]
                times = [seconds / 60 * batch for seconds in r.epoch_seconds()]  # ms, as 60,000 are counted
                medians[contestant.name] = statistics.median(times)
                out.append(f"| {batch} | {contestant.versioned(r.last('version'))} | "
                           f"{medians[contestant.name]:.2f} ms | "
                           f"{medians[contestant.name] / medians['glia']:.2f} | {min(times):.2f}-{max(times):.2f} ms | "
                           f"{r.most('peak_mb'):.0f} MB |")
            out += ["", fastest_peer(medians, f"at batch {batch}")]
        out += ["", f"Medians of {options.rounds} rounds in turns, each process's first epoch left out."]
        out += [f"{name}: {reason}" for name, reason in skipped.items()]
        return "\n".join(out) + "\n"


LOOPS = {"a loop": ["--xla", 0, "--unroll", 0], "unrolled": ["--xla", 0],
         "a loop, XLA": ["--xla", 1, "--unroll", 0], "unrolled, XLA": ["--xla", 1]}
FORMS = {"without XLA": ["--xla", 0]}

COMPARISONS = {
    "gru": Comparison("GRU 128 over sequences (25, 256): training steps with Adam", [32], "step",
                      contestants("gru", 3200, LOOPS)),
    "lstm": Comparison("LSTM 128 over sequences (25, 256): training steps with Adam", [32], "step",
                       contestants("lstm", 3200, LOOPS)),
    "xception": Comparison("Xception at 331x331, 1,000 classes: training steps with Adam", [8], "step",
                           contestants("xception", 16, FORMS)),
    "resnet152_v2": Comparison("ResNet152V2's features of a clip, 5 frames at 224x224", [5], "clip",
                               contestants("resnet152_v2", 20, FORMS)),
}
