"""Runs programs that print JSON lines, in turns, and keeps what they print."""

import json
import pathlib
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
PEERS = ROOT / "benchmarks" / "peers"
PEER_PYTHON = BUILD / "peers" / "bin" / "python"
SYSTEM_PYTHON = pathlib.Path("/usr/bin/python3")


@dataclass
class Contestant:
    """A program, how many epochs it runs and on how many images; slow ones see fewer."""

    name: str  # "library", or "library, variant"
    command: list
    epochs: int
    images: int = 60000

    def versioned(self, version):
        library, comma, variant = self.name.partition(",")
        return f"{library} {version}{comma}{variant}"


@dataclass
class Results:
    """What a contestant printed: its epochs but the first, in which compilers warm up, and the rest."""

    epochs: list = field(default_factory=list)
    facts: list = field(default_factory=list)

    def epoch_seconds(self):
        """Seconds for 60,000 images, of each epoch."""
        return [60000 * line["seconds"] / line["images"] for line in self.epochs]

    def median(self, key, default=None):
        values = [line[key] for line in self.facts + self.epochs if key in line]
        return statistics.median(values) if values else default

    def most(self, key):
        return max(line[key] for line in self.facts + self.epochs if key in line)

    def last(self, key):
        return [line[key] for line in self.epochs + self.facts if key in line][-1]


def run_once(contestant, batch, options):
    """The JSON lines that a contestant prints, or the reason why it did not run."""
    if not pathlib.Path(contestant.command[0]).exists():
        return None, "not installed (benchmarks/peers/setup installs it)"
    arguments = ["--data", options.data, "--epochs", contestant.epochs, "--batch", batch,
                 "--threads", options.threads, "--images", contestant.images, "--seed", 1]
    done = subprocess.run([str(part) for part in contestant.command + arguments],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return None, f"did not run: {reason}"
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], None


def run_rounds(contestants, batches, options):
    """Results by (contestant, batch), the reasons of those skipped, and the sgemm rates measured.

    Contestants take turns, so that a machine that is busy for a while is busy for all of them.
    """
    results, skipped, peaks = {}, {}, []
    for round_number in range(1, options.rounds + 1):
        for batch in batches:
            peaks.append(measure_sgemm(options.threads))
            for contestant in contestants:
                if contestant.name in skipped:
                    continue
                print(f"round {round_number}/{options.rounds}, batch {batch}: {contestant.name}",
                      file=sys.stderr)
                lines, reason = run_once(contestant, batch, options)
                if lines is None:
                    skipped[contestant.name] = reason
                    continue
                kept = results.setdefault((contestant.name, batch), Results())
                kept.epochs += [line for line in lines if line.get("epoch", 0) > 1]
                kept.facts += [line for line in lines if "epoch" not in line]
    return results, skipped, peaks


def measure_sgemm(threads):
    done = subprocess.run([str(BUILD / "benchmarks" / "sgemm_report"), "--threads", str(threads)],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def machine(peaks):
    """The processor, and the matrix product that it reaches."""
    rate = statistics.median(p["gflops"] for p in peaks)
    spread = f"{min(p['gflops'] for p in peaks):.0f} to {max(p['gflops'] for p in peaks):.0f}"
    blas = peaks[0]["blas"].split(" NO_")[0]
    return rate, (f"{cpu_name()}, {platform.system()}; single-precision matrix product "
                  f"{rate:.0f} GFLOP/s ({spread}, {blas})")


def cpu_name():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
