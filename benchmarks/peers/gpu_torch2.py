"""The MNIST networks, a GRU (128 units, 25 steps of 256) and Xception (331x331) in PyTorch 2 on a GPU: eager,
compiled, or the eager step captured as a CUDA graph (--mode).

MNIST's batches are gathered on the host and copied while the steps before them run, as glia's are; the others train on
one random batch. Adam is the fused one, and capturable where a graph holds it. The losses are summed on the GPU and
read once an epoch. Products are computed in TF32, as glia and JAX compute them unless told.
"""

import statistics
import time

from mnist_data import emit, emit_passes, parse_flags, read_split

flags = parse_flags("train a network with PyTorch 2 on a GPU",
                    choices={"model": ["mnist_mlp", "mnist_cnn", "gru", "xception"],
                             "mode": ["eager", "compiled", "graphs"], "device": ["cuda", "cpu"]})

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch_models import Xception  # noqa: E402

SAMPLE = {"mnist_mlp": (784,), "mnist_cnn": (1, 28, 28), "gru": (25, 256), "xception": (3, 331, 331)}
ABOUT = {"peer": "torch2", "version": torch.__version__, "mode": flags.mode, "device": flags.device}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(256, 128, batch_first=True)
        self.top = nn.Linear(128, 10)

    def forward(self, x):
        return self.top(self.cell(x)[0][:, -1])


def network():
    if flags.model == "gru":
        return Recurrent()
    if flags.model == "xception":
        return Xception().to(memory_format=torch.channels_last)
    if flags.model == "mnist_mlp":
        sizes = [784, 400, 400, 500, 10]
        layers = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        return nn.Sequential(*layers[:-1])
    return nn.Sequential(
        nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(1, 64, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.3),
        nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(64, 32, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.3),
        nn.Flatten(), nn.Linear(1568, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10))


def make_step(model):
    on_gpu = flags.device == "cuda"
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=on_gpu, capturable=on_gpu)

    def step(x, y):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"eager": lambda: step, "compiled": lambda: torch.compile(step), "graphs": lambda: as_graph(step)}[flags.mode]()


def as_graph(step):
    """The whole step as one CUDA graph for batches of the first one's shape; others run eagerly."""
    held = None

    def capture(x, y):
        x, y = x.clone(), y.clone()
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                step(x, y)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step(x, y)
        return graph, x, y, loss

    def run(x, y):
        nonlocal held
        held = held or capture(x, y)
        graph, held_x, held_y, loss = held
        if x.shape != held_x.shape:
            return step(x, y)
        held_x.copy_(x)
        held_y.copy_(y)
        graph.replay()
        return loss

    return run


def wait():
    if flags.device == "cuda":
        torch.cuda.synchronize()


def train_on_one_batch(step):
    x = torch.randn(flags.batch, *SAMPLE[flags.model], device=flags.device)
    if flags.model == "xception":
        x = x.contiguous(memory_format=torch.channels_last)
    y = torch.arange(flags.batch, device=flags.device) % 10
    emit_passes(flags, ABOUT, lambda: step(x, y), lambda loss: loss.item())


def train_on_digits(model, step):
    images, labels = (torch.from_numpy(a[: flags.images]) for a in read_split(flags.data, "train"))
    images = images.reshape(-1, *SAMPLE[flags.model])

    def batch(chosen):
        def there(values):
            rows = values[chosen]
            return (rows.pin_memory() if flags.device == "cuda" else rows).to(flags.device, non_blocking=True)

        return there(images), there(labels)

    first = True
    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        total = torch.zeros((), device=flags.device)
        for chosen in torch.randperm(len(images)).split(flags.batch):
            total += step(*batch(chosen)) * len(chosen)
            if first:
                wait()
                emit(**ABOUT, first_step_seconds=round(time.perf_counter() - start, 4))
                first = False
        loss = total.item() / len(images)
        emit(**ABOUT, epoch=epoch, seconds=round(time.perf_counter() - start, 4), images=len(images),
             loss=round(loss, 6))

    latencies = []
    chosen = torch.arange(flags.batch)
    while len(latencies) < 110 and (len(latencies) < 6 or sum(latencies) < 5e3):
        start = time.perf_counter()
        step(*batch(chosen)).item()
        latencies.append(1e3 * (time.perf_counter() - start))
    emit(**ABOUT, step_ms=round(statistics.median(latencies[3:]), 3))

    model.eval()
    images, labels = (torch.from_numpy(a) for a in read_split(flags.data, "t10k"))
    with torch.inference_mode():
        outputs = model(images.reshape(-1, *SAMPLE[flags.model]).to(flags.device))
    emit(**ABOUT, test_accuracy=round((outputs.argmax(1).cpu() == labels).float().mean().item(), 4))


def main():
    torch.manual_seed(flags.seed)
    torch.set_num_threads(flags.threads)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    model = network().to(flags.device)
    step = make_step(model)
    if flags.model.startswith("mnist"):
        train_on_digits(model, step)
    else:
        train_on_one_batch(step)


main()
