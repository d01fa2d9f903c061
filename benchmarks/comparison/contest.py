"""Runs programs that print JSON lines, in turns, and keeps what they print."""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
PEERS = ROOT / "benchmarks" / "peers"
PEER_PYTHON = BUILD / "peers" / "bin" / "python"
TORCH2_PYTHON = BUILD / "peers" / "pytorch" / "bin" / "python"
SYSTEM_PYTHON = pathlib.Path("/usr/bin/python3")


def cpu_facts():
    """What /proc/cpuinfo says of the first core; nothing where there is no such file."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    lines = text.split("\n\n", 1)[0].splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def has_avx512(facts=None):
    return "avx512f" in (facts or cpu_facts()).get("flags", "").split()


def has_amx():
    return "amx_bf16" in cpu_facts().get("flags", "").split()


# Flags for products in bfloat16 of glia and of the peers that have them. Peers use tile registers (AMX) by themselves.
GLIA_BFLOAT16, PEER_BFLOAT16 = ["--products", "bfloat16_tiles" if has_amx() else "bfloat16"], ["--bfloat16", 1]


@dataclass
class Contestant:
    """A program, how many epochs it runs and on how many images; slow ones see fewer."""

    name: str  # "library", or "library, variant"
    command: list
    epochs: int
    images: int = 60000
    bfloat16: list = None  # flags for products in bfloat16; None: it has none
    beside: Callable = contextlib.nullcontext  # makes a context manager: what happens during each run

    def versioned(self, version):
        """"PyTorch 2, eager" of 2.15.0 is "PyTorch 2.15.0, eager"."""
        library, comma, variant = self.name.partition(",")
        return f"{library.rstrip(' 0123456789')} {version}{comma}{variant}"

    def is_peer(self):
        return not self.name.startswith("glia")


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


def in_bfloat16(contestants):
    """glia with products in bfloat16 beside its peers in both precisions, because some peers are slower in bfloat16."""
    result = []
    for one in contestants:
        if one.bfloat16 is not None:
            name = f"{one.name}, bfloat16" if one.is_peer() else one.name
            result.append(dataclasses.replace(one, name=name, command=[*one.command, *one.bfloat16]))
        if one.is_peer():
            result.append(one)
    return result


def run_once(contestant, batch, options):
    """The JSON lines that a contestant prints, or the reason why it did not run."""
    if not pathlib.Path(contestant.command[0]).exists():
        flag = " --pytorch" if contestant.command[0] == TORCH2_PYTHON else ""
        return None, f"not installed (benchmarks/peers/setup{flag} installs it)"
    arguments = ["--data", options.data, "--epochs", contestant.epochs, "--batch", batch,
                 "--threads", options.threads, "--images", contestant.images, "--seed", 1]
    with contestant.beside():
        done = subprocess.run([str(part) for part in contestant.command + arguments], env=environment(contestant),
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
            peaks.append(measure_sgemm(options.threads, better_core()))
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


def fastest_peer(times, what):
    """A line that names the peer to beat; times by contestant's name, glia's among them."""
    peers = {name: time for name, time in times.items() if not name.startswith("glia")}
    if not peers:
        return f"No peer ran: nothing to beat {what}."
    name = min(peers, key=peers.get)
    return f"The fastest peer {what} is {name}: {peers[name] / times['glia']:.2f} times glia's time."


def measure_sgemm(threads, core=None):
    """What sgemm_report prints, with the kernels of that core if OpenBLAS is to be told one."""
    done = subprocess.run([str(BUILD / "benchmarks" / "sgemm_report"), "--threads", str(threads)],
                          env=told_core(core), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# OpenBLAS's kernels for a processor that it does not know, and those for one with AVX-512: the older releases
# take the first for every processor that came after them.
FALLBACK_CORE, AVX512_CORE = "Prescott", "SkylakeX"


@functools.cache
def detected_core():
    """The core whose kernels OpenBLAS picks on this machine by itself."""
    return blas_core(measure_sgemm(1))


def blas_core(measured):
    """The core that the linked OpenBLAS runs, of what sgemm_report prints: "OpenBLAS 0.3.21 NO_LAPACKE
    DYNAMIC_ARCH NO_AFFINITY Zen MAX_THREADS=64" names Zen."""
    words = [word for word in measured["blas"].split() if not re.match(r"MAX_THREADS=|SINGLE_THREADED$", word)]
    return words[-1]


def better_core():
    """The core whose kernels the peers, and the measured matrix product, are told to take from OpenBLAS; none
    where its own choice is right or was made by the user."""
    told = "OPENBLAS_CORETYPE" in os.environ
    return AVX512_CORE if not told and has_avx512() and detected_core() == FALLBACK_CORE else None


def environment(contestant):
    return told_core(better_core() if contestant.is_peer() else None)


def told_core(core):
    return {**os.environ, "OPENBLAS_CORETYPE": core} if core else None


def machine(peaks):
    """The matrix product that the processor reaches, and what to print of both."""
    rate = statistics.median(p["gflops"] for p in peaks)
    spread = f"{min(p['gflops'] for p in peaks):.0f} to {max(p['gflops'] for p in peaks):.0f}"
    blas = f"{peaks[0]['blas'].split(' NO_')[0]} with its {blas_core(peaks[0])} kernels"
    about = (f"{processor(cpu_facts())}, {platform.system()}; single-precision matrix product "
             f"{rate:.0f} GFLOP/s ({spread}, {blas})")
    if core := better_core():
        about += (f"\n\nThis version of OpenBLAS does not know the processor and would use its {detected_core()} "
                  f"kernels. The matrix product and\nthe peers therefore ran with OPENBLAS_CORETYPE={core}, "
                  "glia without it.")
    return rate, about


def processor(facts):
    """A line such as "Intel(R) Xeon(R) Processor (family 6, model 207, stepping 2, 2 cores; AVX-512)": virtual
    machines often hide the rest of the name."""
    name = facts.get("model name") or platform.processor() or platform.machine() or "unknown processor"
    told = [f"{what} {facts[key]}" for what, key in (("family", "cpu family"), ("model", "model"),
                                                     ("stepping", "stepping")) if key in facts]
    told.append(f"{os.cpu_count()} cores")
    widths = [width for width, flag in (("AVX-512 and AMX", "amx_bf16"), ("AVX-512", "avx512f"), ("AVX2", "avx2"), ("no AVX2", ""))
              if not flag or flag in facts.get("flags", "").split()]
    return f"{name} ({', '.join(told)}; {widths[0]})" if "flags" in facts else f"{name} ({', '.join(told)})"
