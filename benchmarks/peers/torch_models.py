"""What the PyTorch peers share, whatever PyTorch's version: the networks, the name of the BLAS, and what is timed.

To be imported after `use_openmp_blas`, which must come before torch.
"""

import re
import time

import torch
from mnist_data import emit, read_split
from torch import nn


def blas_name():
    """The BLAS that is loaded, such as OpenBLAS 0.3.21 (openmp), or the one that torch was linked with."""
    linked = re.search(r"(?:Math Kernel Library|oneAPI MKL) Version ([\d.]+)", torch.__config__.show())
    if linked:
        return f"MKL {linked[1]}"
    with open("/proc/self/maps") as maps:
        mapped = maps.read()
    openblas = re.search(r"/openblas-(\w+)/libopenblasp?-r([\d.]+)\.so", mapped)
    if openblas:
        return f"OpenBLAS {openblas[2]} ({openblas[1]})"
    others = sorted(set(re.findall(r"/(lib[\w.-]*(?:blas|mkl)[\w.-]*)$", mapped, re.MULTILINE)))
    return ", ".join(others) or "unknown"


def prepare(flags):
    """Sets what every peer sets: threads, seed, denormals as zero. The training images and labels."""
    torch.set_num_threads(flags.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(flags.seed)
    return (torch.from_numpy(a[: flags.images]) for a in read_split(flags.data, "train"))


def emit_epochs(flags, about, images, train_epoch):
    """A line for each epoch; train_epoch() runs one and returns the mean loss."""
    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        loss = train_epoch()
        seconds = time.perf_counter() - start
        emit(**about, version=torch.__version__, blas=blas_name(), threads=flags.threads, epoch=epoch,
             seconds=round(seconds, 4), images=len(images), loss=round(loss, 6))


def emit_accuracy(flags, about, model):
    images, labels = (torch.from_numpy(a) for a in read_split(flags.data, "t10k"))
    with torch.inference_mode():
        accuracy = (model(images).argmax(1) == labels).float().mean().item()
    emit(**about, test_accuracy=round(accuracy, 4))


class perceptron(torch.nn.Sequential):
    def __init__(self):
        super().__init__()
        sizes = [784, 400, 400, 500, 10]
        for inputs, outputs in zip(sizes, sizes[1:]):
            dense = torch.nn.Linear(inputs, outputs)
            torch.nn.init.xavier_uniform_(dense.weight)
            torch.nn.init.zeros_(dense.bias)
            self.append(dense)
            if outputs != sizes[-1]:
                self.append(torch.nn.ReLU(inplace=True))


class dropout(torch.nn.Module):
    """torch.nn.Dropout, but with 16 random bits for each element and not a Bernoulli draw of its own."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training:
            return x
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        keep = bits.view(torch.int16)[: x.numel()] >= int(65536 * self.rate) - 32768
        # In x's own memory order: the same strides make the product one pass over memory.
        keep = keep.as_strided(x.size(), x.stride())
        return x * (keep * (1 / (1 - self.rate)))


class convnet(torch.nn.Sequential):
    def __init__(self):
        # padding="same" would pad a 2x2 kernel at the bottom and at the right, too, and warn of the copy.
        # ReLU and maximum commute: the pooling comes first, so that ReLU sees a quarter.
        def block(inputs, outputs):
            return [torch.nn.ZeroPad2d((0, 1, 0, 1)), torch.nn.Conv2d(inputs, outputs, 2),
                    torch.nn.MaxPool2d(2), torch.nn.ReLU(inplace=True), dropout(0.3)]

        # Flattened is (channel, row, column) here and (row, column, channel) in Keras: the same network
        # with the dense kernel's rows in another order.
        super().__init__(*block(1, 64), *block(64, 32), torch.nn.Flatten(), torch.nn.Linear(1568, 256),
                         torch.nn.ReLU(inplace=True), dropout(0.5), torch.nn.Linear(256, 10))
        for layer in self:
            if hasattr(layer, "weight"):
                torch.nn.init.xavier_uniform_(layer.weight)
                torch.nn.init.zeros_(layer.bias)
        self.to(memory_format=torch.channels_last)


def as_images(rows):
    """(n, 784) as (n, 1, 28, 28); with one channel both memory formats are the same bytes."""
    return rows.view(-1, 1, 28, 28).as_strided((len(rows), 1, 28, 28), (784, 1, 28, 1))


def unit(inputs, outputs, kernel, stride=1, groups=1, activation=True):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
              nn.BatchNorm2d(outputs)]
    return layers + [nn.ReLU6(inplace=True)] * activation


class Bottleneck(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        self.residual = stride == 1 and inputs == outputs
        self.body = nn.Sequential(*(unit(inputs, inner, 1) if expansion > 1 else []),
                                  *unit(inner, inner, 3, stride, inner),
                                  *unit(inner, outputs, 1, activation=False))

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                (6, 160, 3, 2), (6, 320, 1, 1)]
        layers, channels = unit(3, 32, 3, 2), 32
        for expansion, outputs, blocks, stride in rows:
            for i in range(blocks):
                layers.append(Bottleneck(channels, outputs, stride if i == 0 else 1, expansion))
                channels = outputs
        self.features = nn.Sequential(*layers, *unit(channels, 1280, 1))

    def forward(self, x):
        return self.features(x).mean((2, 3))


class Separable(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False),
                         nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))


class XceptionBlock(nn.Module):
    """Separable convolutions with an activation before each, beside a convolution of 1x1 where images halve."""

    def __init__(self, inputs, widths, halves, activated=True):
        super().__init__()
        body = []
        for i, width in enumerate(widths):
            # Not in place: what goes into a block is added to what comes out.
            body += [nn.ReLU(inplace=i > 0)] * (activated or i > 0) + [Separable(inputs if i == 0 else widths[i - 1],
                                                                               width)]
        self.body = nn.Sequential(*body, *([nn.MaxPool2d(3, 2, 1)] * halves))
        self.shortcut = nn.Sequential(nn.Conv2d(inputs, widths[-1], 1, 2, bias=False),
                                      nn.BatchNorm2d(widths[-1])) if halves else nn.Identity()

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class Xception(nn.Sequential):
    def __init__(self, classes=1000):
        def first(inputs, outputs, stride):
            return [nn.Conv2d(inputs, outputs, 3, stride, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]

        super().__init__(
            *first(3, 32, 2), *first(32, 64, 1), XceptionBlock(64, [128, 128], True, activated=False),
            XceptionBlock(128, [256, 256], True), XceptionBlock(256, [728, 728], True),
            *(XceptionBlock(728, [728] * 3, False) for _ in range(8)), XceptionBlock(728, [728, 1024], True),
            Separable(1024, 1536), nn.ReLU(inplace=True), Separable(1536, 2048), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


class ResNetV2Block(nn.Module):
    def __init__(self, inputs, filters, stride, projects):
        super().__init__()
        self.before = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU(inplace=True))
        self.projects = projects
        self.shortcut = (nn.Conv2d(inputs, 4 * filters, 1, stride) if projects
                         else nn.MaxPool2d(1, stride) if stride > 1 else nn.Identity())
        self.body = nn.Sequential(
            nn.Conv2d(inputs, filters, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, 4 * filters, 1))

    def forward(self, x):
        before = self.before(x)
        return self.body(before) + self.shortcut(before if self.projects else x)


class ResNet152V2(nn.Sequential):
    """To the mean features, as Keras defines it."""

    def __init__(self):
        layers = [nn.Conv2d(3, 64, 7, 2, 3), nn.ZeroPad2d(1), nn.MaxPool2d(3, 2)]
        channels = 64
        for group, blocks in enumerate((3, 8, 36, 3)):
            for i in range(blocks):
                halves = i + 1 == blocks and group < 3
                layers.append(ResNetV2Block(channels, 64 << group, 2 if halves else 1, i == 0))
                channels = 4 * (64 << group)
        super().__init__(*layers, nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class ResNetBlock(nn.Module):
    def __init__(self, inputs, filters, stride, projects):
        def convolve(inputs, outputs, kernel, stride=1):
            return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)]

        super().__init__()
        self.shortcut = nn.Sequential(*convolve(inputs, 4 * filters, 1, stride)) if projects else nn.Identity()
        self.body = nn.Sequential(*convolve(inputs, filters, 1), nn.ReLU(inplace=True),
                                  *convolve(filters, filters, 3, stride), nn.ReLU(inplace=True),
                                  *convolve(filters, 4 * filters, 1))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet50(nn.Sequential):
    """As torchvision defines it."""

    def __init__(self, classes=1000):
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for group, blocks in enumerate((3, 4, 6, 3)):
            for i in range(blocks):
                layers.append(ResNetBlock(channels, 64 << group, 2 if i == 0 and group > 0 else 1, i == 0))
                channels = 4 * (64 << group)
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
