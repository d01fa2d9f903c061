"""Recurrent layers and large networks in PyTorch 2 on the CPU, eager (--compiled 0) or compiled (--compiled 1):
training steps with Adam of a GRU or an LSTM (128 units, 25 steps of 256) or of Xception (331x331), or the features of
ResNet152V2 (224x224). Random inputs and weights."""

from mnist_data import emit_passes, keep_freed_memory, parse_flags

flags = parse_flags("time a network with PyTorch 2", epochs=3, batch=8, switches=["compiled", "channels_last"],
                    choices={"network": ("gru", "lstm", "xception", "resnet152_v2")})
keep_freed_memory()

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch2_training import make_step  # noqa: E402
from torch_models import ResNet152V2, Xception  # noqa: E402


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


def train():
    if flags.network == "xception":
        x, form = images_of(331)
        model = Xception().to(memory_format=form)
        if flags.compiled:  # alone: the whole step as one graph takes no batch normalization's statistics
            model = torch.compile(model, dynamic=False)
        y = torch.arange(flags.batch)
    else:
        x = torch.randn(flags.batch, 25, 256)
        model = Recurrent(nn.GRU if flags.network == "gru" else nn.LSTM)
        y = torch.arange(flags.batch) % 10
    step = make_step(model, loss, bool(flags.compiled) and flags.network != "xception")
    emit_passes_of(lambda: step(x, y))


@torch.no_grad()  # inference_mode would keep the compiler from freezing the weights
def compute_features():
    x, form = images_of(224)
    model = ResNet152V2().eval().to(memory_format=form)
    if flags.compiled:
        model = torch.compile(model, dynamic=False, options={"freezing": True})
    else:
        model = torch.jit.freeze(torch.jit.trace(model, x))
    emit_passes_of(lambda: model(x))


def main():
    torch.set_num_threads(flags.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(flags.seed)
    compute_features() if flags.network == "resnet152_v2" else train()


main()
