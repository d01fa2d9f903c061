"""Writes what torch exports of small networks, for the tests that read ONNX files.

    pip install torch onnx onnxscript onnxruntime safetensors
    python make_torch_models.py FOLDER [NAME...]

FOLDER gets torch_NAME.onnx of torch's own exporter (dynamo=True) and torch_NAME_legacy.onnx of the older one that
traces (dynamo=False), both with a batch of any size, and beside each a .safetensors file of "x", a batch of inputs, and
"y", what torch itself gives for them. Both are float32: the tokens of `embedding` are whole numbers in x, and int64 in
the network. The networks have weights of a fixed seed, and compute as in use (dropout off).
"""

import pathlib
import warnings

import onnx
import torch
from fixture import finish, read_arguments
from torch import nn
from torch.nn import functional as F

BATCH = 2


class Lambda(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Residual(nn.Module):
    def __init__(self, body, shortcut=None, after=None):
        super().__init__()
        self.body, self.shortcut, self.after = body, shortcut or nn.Identity(), after or nn.Identity()

    def forward(self, x):
        return self.after(self.body(x) + self.shortcut(x))


class Recurrent(nn.Module):
    """The last step of a recurrence, then a dense layer."""

    def __init__(self, kind, **options):
        super().__init__()
        self.cell = kind(16, 12, batch_first=True, **options)
        self.dense = nn.Linear(24 if options.get("bidirectional") else 12, 5)

    def forward(self, x):
        return self.dense(self.cell(x)[0][:, -1])


class Inception(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.one = conv_bn(channels, 4, 1)
        self.three = nn.Sequential(conv_bn(channels, 4, 1), conv_bn(4, 6, 3))
        self.five = nn.Sequential(conv_bn(channels, 2, 1), conv_bn(2, 4, 5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), conv_bn(channels, 3, 1))

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], dim=1)


class Attention(nn.Module):
    """A block of attention that takes the norm first, and reads the mean over time."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.forward_part = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x):
        z = self.norm(x)
        x = x + self.attention(z, z, z, need_weights=False)[0]
        return (x + self.forward_part(x)).mean(dim=1)


class Resize(nn.Module):
    """Each way to make an image larger or smaller."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)
        self.grouped = nn.ConvTranspose2d(4, 4, 2, stride=2, groups=2)

    def forward(self, x):  # (N,3,5,6)
        x = F.relu(self.up(x))  # (N,4,10,12)
        x = F.interpolate(x, size=(13, 17), mode="nearest")
        x = F.interpolate(x, size=(9, 20), mode="bilinear", align_corners=False)
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = F.interpolate(x, size=(7, 8), mode="bilinear", align_corners=True)
        return self.grouped(x)


def conv_bn(inputs, outputs, size, stride=1, groups=1, activation=nn.ReLU):
    layers = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([activation()] if activation else []))


def inverted_residual(inputs, outputs, stride):
    wide = 2 * inputs
    body = nn.Sequential(
        conv_bn(inputs, wide, 1, activation=nn.ReLU6),
        conv_bn(wide, wide, 3, stride, groups=wide, activation=nn.ReLU6),
        conv_bn(wide, outputs, 1, activation=None),
    )
    return Residual(body) if inputs == outputs and stride == 1 else body


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 10))


def cnn():
    features = [nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 5), nn.ReLU(), nn.MaxPool2d(2)]
    dense = [nn.Flatten(), nn.Linear(12 * 4 * 4, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10)]
    return nn.Sequential(*features, *dense)


def transfer():
    """MobileNetV2 in small."""
    return nn.Sequential(
        conv_bn(3, 8, 3, stride=2, activation=nn.ReLU6),
        inverted_residual(8, 8, 1),
        inverted_residual(8, 12, 2),
        conv_bn(12, 24, 1, activation=nn.ReLU6),
        Lambda(lambda x: F.adaptive_avg_pool2d(x, (1, 1))),
        nn.Flatten(),
        nn.Linear(24, 5),
    )


def resnet():
    body = nn.Sequential(conv_bn(6, 10, 3, stride=2), conv_bn(10, 10, 3, activation=None))
    down = Residual(body, conv_bn(6, 10, 1, stride=2, activation=None), nn.ReLU())
    same = Residual(nn.Sequential(conv_bn(10, 10, 3), conv_bn(10, 10, 3, activation=None)), after=nn.ReLU())
    stem = [conv_bn(3, 6, 7, stride=2), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, down, same, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(10, 5))


def encoder():
    return nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, activation="gelu", batch_first=True)


def embedding():
    return nn.Sequential(nn.Embedding(50, 8), Lambda(lambda x: x.mean(dim=1)), nn.Linear(8, 5))


# Each network's name, how it is made, and the shape of one input.
MODELS = {
    "mlp": (mlp, (1, 28, 28)),
    "cnn": (cnn, (1, 28, 28)),
    "transfer": (transfer, (3, 16, 16)),
    "resnet": (resnet, (3, 17, 16)),
    "inception": (lambda: Inception(5), (5, 8, 9)),
    "resize": (Resize, (3, 5, 6)),
    "gru": (lambda: Recurrent(nn.GRU), (5, 16)),
    "gru_bidirectional": (lambda: Recurrent(nn.GRU, num_layers=2, bidirectional=True), (5, 16)),
    "lstm": (lambda: Recurrent(nn.LSTM), (5, 16)),
    "lstm_bidirectional": (lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True), (5, 16)),
    "rnn": (lambda: Recurrent(nn.RNN), (5, 16)),
    "rnn_bidirectional": (lambda: Recurrent(nn.RNN, num_layers=2, bidirectional=True), (5, 16)),
    "attention": (Attention, (6, 16)),
    "encoder": (encoder, (6, 16)),
    "embedding": (embedding, (9,)),
}


def export(model, x, path, **options):
    dynamo = {"dynamo": True, "dynamic_shapes": ({0: torch.export.Dim("batch")},), "external_data": False}
    legacy = {"dynamo": False, "dynamic_axes": {"x": {0: "batch"}, "y": {0: "batch"}}}
    chosen = dynamo if options.get("dynamo", True) else legacy
    torch.onnx.export(model, (x,), path, input_names=["x"], output_names=["y"], **{**chosen, **options})
    drop_traces(path)


def drop_traces(path):
    """The exporter notes with each node where in which Python file it is from: long, and with local paths."""
    network = onnx.load(path, load_external_data=False)
    graph = network.graph
    functions = [node for function in network.functions for node in function.node]
    for part in [*graph.node, *functions, *graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        kept = [p for p in part.metadata_props if not p.key.startswith(("pkg.torch.onnx.", "namespace"))]
        del part.metadata_props[:]
        part.metadata_props.extend(kept)
    path.write_bytes(network.SerializeToString())


def randomize(model):
    """Norms get values that matter, and convolutions weights that keep an image's variance: y then depends on all."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
        if isinstance(module, (nn.BatchNorm2d, nn.LayerNorm)):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.2)
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, std=0.3)
            nn.init.uniform_(module.running_var, 0.2, 1.0)


def write(folder, name):
    torch.manual_seed(7)
    make, shape = MODELS[name]
    model = make().eval()
    randomize(model)
    x = torch.randint(0, 50, (BATCH, *shape)) if name == "embedding" else torch.randn(BATCH, *shape)
    with torch.no_grad():
        y = model(x)

    def variant(suffix="", **options):
        full = f"torch_{name}{suffix}"
        export(model, x, folder / f"{full}.onnx", **options)
        finish(folder, full, x.float().numpy(), y.numpy())

    variant()
    # The older exporter fails on an encoder: "argument 'is_causal' must be bool, not Tensor". `cnn` stands for `mlp`.
    if name not in ("encoder", "mlp"):
        variant("_legacy", dynamo=False)
    if name == "attention":
        variant("_opset23", opset_version=23)  # the first that has attention as an operator
    if name == "transfer":
        variant("_unoptimized", optimize=False)
        # Eval mode's batch norms, which the exporter otherwise takes into the convolutions before them.
        variant("_legacy_norms", dynamo=False, do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)
    if name == "embedding":
        variant("_external", external_data=True)


if __name__ == "__main__":
    folder, names = read_arguments(__doc__, MODELS)
    warnings.filterwarnings("ignore")
    torch.backends.mha.set_fastpath_enabled(False)  # its fused operator is not one that ONNX can hold
    for chosen in names:
        write(folder, chosen)
