"""Networks whose passes over one batch are timed: training steps of a recurrent layer, Xception, a U-Net or a GPT, the
features that ResNet152V2 and MobileNetV2 see in images, tokens that a GPT writes."""

import datetime
import statistics
from dataclasses import dataclass, field

from .contest import (BUILD, GLIA_BFLOAT16, PEER_BFLOAT16, PEER_PYTHON, PEERS, SYSTEM_PYTHON, TORCH2_PYTHON,
                      Contestant, fastest_peer, in_bfloat16, machine, run_rounds)


TRAINED = ("eager", "compiled")
FROZEN = ("traced and frozen", "compiled, frozen constants")


def contestants(network, images, torch_forms, keras):
    """glia, PyTorch in two forms, and Keras on so many images an epoch; keras are the flags of its forms."""
    torch = [TORCH2_PYTHON, PEERS / "network_torch2.py", "--network", network]
    of_keras = [PEER_PYTHON, PEERS / "network_keras.py", "--network", network]
    return [Contestant("glia", [BUILD / "benchmarks" / "network_report", "--network", network], 4, images,
                       GLIA_BFLOAT16),
            *(Contestant(f"PyTorch 2, {form}", [*torch, "--compiled", i], 3, images, PEER_BFLOAT16)
              for i, form in enumerate(torch_forms)),
            *(Contestant(f"Keras, {name}", [*of_keras, *form], 3, images, PEER_BFLOAT16)
              for name, form in keras.items())]


def mobilenet_v2():
    onnx = [PEER_PYTHON, PEERS / "mobilenet_v2_onnx.py"]
    torch2 = [TORCH2_PYTHON, PEERS / "mobilenet_v2_torch2.py"]
    torch = [SYSTEM_PYTHON, PEERS / "mobilenet_v2_torch.py"]
    commands = {
        "glia": [BUILD / "benchmarks" / "mobilenet_v2_report"],
        "Keras, frozen constants": [PEER_PYTHON, PEERS / "mobilenet_v2_keras.py"],
        "PyTorch, optimize_for_inference": torch,
        "PyTorch, plain, channels_last": [*torch, "--optimized", "0", "--nchw", "0"],
        "PyTorch, plain": [*torch, "--optimized", "0"],
        "PyTorch 2, traced and frozen": [*torch2, "--compiled", 0],
        "PyTorch 2, compiled, frozen constants": [*torch2, "--compiled", 1],
        "OpenVINO, a stream for each thread": [*onnx, "--openvino", 1],
        "ONNX Runtime": [*onnx, "--openvino", 0],
    }
    bfloat16 = {"glia": GLIA_BFLOAT16, "PyTorch 2, traced and frozen": PEER_BFLOAT16,
                "PyTorch 2, compiled, frozen constants": PEER_BFLOAT16,
                "OpenVINO, a stream for each thread": PEER_BFLOAT16}
    return [Contestant(name, command, 6 if name == "glia" else 4, 256, bfloat16.get(name))
            for name, command in commands.items()]


@dataclass
class Comparison:
    """What is compared, at which batches, and what is timed."""

    title: str
    BATCHES: list
    contestants: list
    timed: str  # a pass over a batch, or with mflop one sample of it
    mflop: float = 0  # of a sample's products; 0: rates are not shown
    PROGRAMS: list = field(default_factory=lambda: ["network_report", "sgemm_report"])

    def compare(self, batches, options):
        every = in_bfloat16(self.contestants) if options.bfloat16 else self.contestants
        results, skipped, peaks = run_rounds(every, batches, options)
        peak, about = machine(peaks)
        columns = ["batch", "", self.timed, "relative", "spread",
                   *(["GFLOP/s", "share of the matrix product's rate"] if self.mflop else []), "peak memory"]
        precision = ", bfloat16" if options.bfloat16 else ""
        out = [f"# {self.title}{precision}, {options.threads} threads, {datetime.date.today()}", "", about, "",
               f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
        for batch in batches:
            medians = {}
            for contestant in every:
                if (contestant.name, batch) not in results:
                    continue
                r = results[contestant.name, batch]
                # Seconds are of 60,000 samples.
                times = [seconds / 60 * (1 if self.mflop else batch) for seconds in r.epoch_seconds()]
                median = medians[contestant.name] = statistics.median(times)
                rate = self.mflop / median
                cells = [batch, contestant.versioned(r.last("version")), f"{median:.2f} ms",
                         f"{median / medians['glia']:.2f}", f"{min(times):.2f}-{max(times):.2f} ms",
                         *([f"{rate:.0f}", f"{100 * rate / peak:.0f} %"] if self.mflop else []),
                         f"{r.most('peak_mb'):.0f} MB"]
                out.append(f"| {' | '.join(map(str, cells))} |")
            out += ["", fastest_peer(medians, f"at batch {batch}")]
        out += ["", f"Medians of {options.rounds} rounds in turns, without each process's first epoch."]
        out += [f"{self.mflop} MFLOP a sample, two for each multiply-add."] if self.mflop else []
        out += [f"{name}: {reason}" for name, reason in skipped.items()]
        return "\n".join(out) + "\n"


LOOPS = {"a loop": ["--xla", 0, "--unroll", 0], "unrolled": ["--xla", 0],
         "a loop, XLA": ["--xla", 1, "--unroll", 0], "unrolled, XLA": ["--xla", 1]}
FORMS = {"without XLA": ["--xla", 0]}

COMPARISONS = {
    "gru": Comparison("GRU 128 over sequences (25, 256): training steps with Adam", [32],
                      contestants("gru", 3200, TRAINED, LOOPS), "step"),
    "lstm": Comparison("LSTM 128 over sequences (25, 256): training steps with Adam", [32],
                       contestants("lstm", 3200, TRAINED, LOOPS), "step"),
    "xception": Comparison("Xception at 331x331, 1,000 classes: training steps with Adam", [8],
                           contestants("xception", 16, TRAINED, FORMS), "step"),
    "u_net": Comparison("U-Net (16 filters, depth 3, batch normalization) at 128x128, 4 classes: training steps with Adam", [8],
                        contestants("u_net", 32, TRAINED, FORMS), "step"),
    "gpt": Comparison("GPT (4 layers of 128, 834,000 parameters), sequences of 256 tokens: training steps with Adam", [16],
                      contestants("gpt", 64, TRAINED, {}), "step"),
    "gpt_writing": Comparison("GPT (4 layers of 128, 834,000 parameters) writes token by token, with the keys and values of earlier tokens", [1],
                              contestants("gpt_writing", 512, TRAINED, {}), "token"),
    "transformer": Comparison("Transformer block (256 wide, 8 heads) over sequences (128, 256): training steps with Adam", [32],
                              contestants("transformer", 640, TRAINED, {}), "step"),
    "transformer_forward": Comparison("Transformer block (256 wide, 8 heads) over sequences (128, 256), outputs", [32],
                                      contestants("transformer_forward", 1920, FROZEN, {}), "pass"),
    "resnet50": Comparison("ResNet-50 at 224x224, 1,000 classes: training steps with Adam", [16],
                           contestants("resnet50", 32, TRAINED, FORMS), "step"),
    "resnet50_logits": Comparison("ResNet-50 at 224x224, 1,000 classes, outputs", [16],
                                  contestants("resnet50_logits", 64, FROZEN, FORMS), "pass"),
    "resnet152_v2": Comparison("ResNet152V2's features of a clip, 5 frames at 224x224", [5],
                               contestants("resnet152_v2", 20, FROZEN, FORMS), "clip"),
    "mobilenet_v2": Comparison("MobileNetV2's features (width 1, 224x224, batch normalization folded)", [32],
                               mobilenet_v2(), "per image", 599.0, ["mobilenet_v2_report", "sgemm_report"]),
}
