"""Recurrent layers and large networks in PyTorch 2 on the CPU, eager (--compiled 0) or compiled (--compiled 1):
training steps with Adam of a GRU or an LSTM (128 units, 25 steps of 256), of Xception (331x331), of ResNet-50
(224x224), of a GPT (4 layers of 128, 256 tokens), of a transformer block (128 steps of 256, 8 heads) or of a U-Net
(128x128), the features of ResNet152V2 (224x224), the outputs of ResNet-50 and of the transformer block, or tokens that
the GPT writes with a cache of keys and values. Random inputs and weights. --bfloat16 1 trains under autocast, and
predicts with a model in bfloat16."""

from mnist_data import emit_passes, keep_freed_memory, parse_flags

flags = parse_flags("time a network with PyTorch 2", epochs=3, batch=8, switches=["compiled", "channels_last"], modes=["bfloat16"],
                    choices={"network": ("gru", "lstm", "xception", "gpt", "gpt_writing", "u_net", "resnet152_v2", "resnet50",
                                         "resnet50_logits", "transformer", "transformer_forward")})
keep_freed_memory()

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch2_training import make_step  # noqa: E402
from torch_gpt import GPT, Block  # noqa: E402
from torch_models import ResNet50, ResNet152V2, Xception  # noqa: E402
from torch_u_net import UNet  # noqa: E402


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell(256, 128, batch_first=True)
        self.top = nn.Linear(128, 10)

    def forward(self, x):
        return self.top(self.cell(x)[0][:, -1])


def emit_passes_of(run):
    about = {"peer": "torch2", "compiled": bool(flags.compiled), "version": torch.__version__}
    emit_passes(flags, about, run, lambda last: last.sum().item())


def images_of(extent):
    form = torch.channels_last if flags.channels_last else torch.contiguous_format
    return torch.randn(flags.batch, 3, extent, extent).contiguous(memory_format=form), form


def loss(model, x, y):
    return nn.functional.cross_entropy(model(x), y)


def token_loss(model, x, y):
    return nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())


def square_loss(model, x, y):
    return nn.functional.mse_loss(model(x).float(), y)


def train():
    if flags.network in ("xception", "resnet50"):
        x, form = images_of(331 if flags.network == "xception" else 224)
        model = (Xception() if flags.network == "xception" else ResNet50()).to(memory_format=form)
        if flags.compiled:  # alone: the whole step as one graph takes no batch normalization's statistics
            model = torch.compile(model, dynamic=False)
        y = torch.arange(flags.batch)
    elif flags.network == "u_net":
        x, form = images_of(128)
        model = UNet(classes=4, filters=16, depth=3).to(memory_format=form)
        if flags.compiled:
            model = torch.compile(model, dynamic=False)
        y = torch.arange(flags.batch * 128 * 128).reshape(flags.batch, 128, 128) % 4
    elif flags.network == "gpt":
        model = GPT()
        x = y = torch.arange(flags.batch * GPT.STEPS).reshape(flags.batch, GPT.STEPS) % GPT.TOKENS
    elif flags.network == "transformer":
        model = Block(256, 8, causal=False)
        x = torch.randn(flags.batch, 128, 256)
        y = torch.zeros(flags.batch, 128, 256)
    else:
        x = torch.randn(flags.batch, 25, 256)
        model = Recurrent(nn.GRU if flags.network == "gru" else nn.LSTM)
        y = torch.arange(flags.batch) % 10
    losses = {"gpt": token_loss, "transformer": square_loss}
    step = make_step(model, losses.get(flags.network, loss),
                     bool(flags.compiled) and flags.network not in ("xception", "resnet50", "u_net"),
                     bfloat16=flags.bfloat16)
    emit_passes_of(lambda: step(x, y))


@torch.no_grad()  # inference_mode would keep the compiler from freezing the weights
def compute_outputs():
    if flags.network == "transformer_forward":
        x, model = torch.randn(flags.batch, 128, 256), Block(256, 8, causal=False).eval()
    else:
        x, form = images_of(224)
        model = (ResNet50() if flags.network == "resnet50_logits" else ResNet152V2()).eval().to(memory_format=form)
    if flags.bfloat16:  # faster than autocast
        model, x = model.bfloat16(), x.bfloat16()
    if flags.compiled:
        model = torch.compile(model, dynamic=False, options={"freezing": True})
    else:
        model = torch.jit.freeze(torch.jit.trace(model, x))
    emit_passes_of(lambda: model(x))


@torch.inference_mode()
def write_tokens():
    model = GPT().eval()
    step = torch.compile(model.step, dynamic=False) if flags.compiled else model.step
    state = {"caches": model.caches(), "position": 0, "token": torch.zeros(1, 1, dtype=torch.long)}

    def write():
        if state["position"] == GPT.STEPS:
            state["position"] = 0
        logits = step(state["token"], state["caches"], torch.tensor([state["position"]]))
        state["token"] = torch.multinomial(logits[:, -1].softmax(-1), 1)
        state["position"] += 1
        return state["token"]

    emit_passes_of(write)


def main():
    torch.set_num_threads(flags.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(flags.seed)
    outputs = ("resnet152_v2", "resnet50_logits", "transformer_forward")
    write_tokens() if flags.network == "gpt_writing" else compute_outputs() if flags.network in outputs else train()


main()
