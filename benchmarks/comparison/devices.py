"""glia on the device of a PJRT plugin, beside what Python programs reach on the same device: JAX, and on GPUs
PyTorch eager, compiled and with CUDA graphs. Epochs, single steps that are waited for, the first step with what it
compiles, and memory."""

import datetime
import statistics

from .contest import BUILD, PEER_PYTHON, PEERS, TORCH2_PYTHON, Contestant, machine, run_rounds

ABOUT = {"mnist_mlp": "MNIST perceptron 784-400-400-500-10, Adam",
         "mnist_cnn": "MNIST convolutional network (conv 64 2x2, pool, conv 32 2x2, pool, dense 256, dense 10; "
                      "dropout; Adam)"}


def contestants(model, options):
    """The slow ones see fewer images on a processor: XLA takes seconds for a step of the convolutional network."""
    report = [BUILD / "benchmarks" / f"{model}_report"]
    on_cpu = "cuda" not in options.device and "tpu" not in options.device
    images = 4096 if model == "mnist_cnn" and on_cpu else 60000
    device = [part for setting in options.plugin_setting for part in ("--plugin-setting", setting)]
    result = [Contestant("glia", [*report, "--device", options.device, *device], 4, images),
              Contestant("JAX", [PEER_PYTHON, PEERS / f"{model}_jax.py"], 4, images)]
    if on_cpu:
        result.append(Contestant("glia, cpu backend", report, 4, images))
    else:
        torch = [TORCH2_PYTHON, PEERS / "gpu_torch2.py", "--model", model]
        result += [Contestant("PyTorch 2, eager", [*torch, "--mode", "eager"], 4),
                   Contestant("PyTorch 2, compiled", [*torch, "--mode", "compiled"], 4),
                   Contestant("PyTorch 2, CUDA graphs", [*torch, "--mode", "graphs"], 4)]
    return result


def compare(model, batches, options):
    run = contestants(model, options)
    results, skipped, peaks = run_rounds(run, batches, options)
    _, about = machine(peaks)
    out = [f"# {ABOUT[model]}; {options.threads} threads, {datetime.date.today()}", "", about, "",
           f"glia on {options.device.rsplit('/', 1)[-1]}. Medians of {options.rounds} rounds in turns, without the "
           "first epoch of each process.", "",
           "| batch | | epoch | epoch / glia's | spread | one step, synchronized | first step | of it compilation | "
           "peak memory |", "| --- " * 9 + "|"]
    for batch in batches:
        own = None
        for contestant in run:
            if (contestant.name, batch) not in results:
                continue
            r = results[contestant.name, batch]
            epochs = r.epoch_seconds()
            epoch = statistics.median(epochs)
            own = own or epoch
            steps = r.median("step_ms")
            # Of one process, the first, which finds nothing in a cache.
            first = max((line["first_step_seconds"] for line in r.facts if "first_step_seconds" in line), default=None)
            compiling = max((line["compile_seconds"] for line in r.facts if "compile_seconds" in line), default=None)
            out.append(f"| {batch} | {contestant.versioned(r.last('version'))} | {epoch:.2f} s | {epoch / own:.2f} | "
                       f"{min(epochs):.2f}-{max(epochs):.2f} | {shown(steps, 'ms')} | {shown(first, 's')} | "
                       f"{shown(compiling, 's')} | {r.most('peak_mb'):.0f} MB |")
    out += ["", "Epochs are of 60,000 images, or scaled to as many. The first step is that of a process that found "
            "nothing compiled;\nglia's next one loads its programs."]
    out += [f"{c.name} was timed on {c.images} images and scaled." for c in run if c.images < 60000]
    out += [f"{name}: {reason}" for name, reason in skipped.items()]
    return "\n".join(out) + "\n"


def shown(value, unit):
    return f"{value:.2f} {unit}" if value else ""
