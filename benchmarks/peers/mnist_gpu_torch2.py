"""The MNIST networks in PyTorch 2 on a GPU: eager, compiled, or compiled into CUDA graphs (--mode).

Batches are gathered on the host and copied while the steps before them run, as glia's are; Adam is the fused one,
and capturable where a graph holds it. The losses are summed on the GPU and read once an epoch.
"""

import statistics
import time

from mnist_data import emit, parse_flags, read_split

flags = parse_flags("train an MNIST network with PyTorch 2 on a GPU",
                    choices={"model": ["mnist_mlp", "mnist_cnn"], "mode": ["eager", "compiled", "graphs"],
                             "device": ["cuda", "cpu"]})

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

SAMPLE = {"mnist_mlp": (784,), "mnist_cnn": (1, 28, 28)}


def network():
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

    def step(images, labels):
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=flags.mode != "graphs")
        return loss.detach()

    if flags.mode == "eager":
        return step
    return torch.compile(step, mode="reduce-overhead" if flags.mode == "graphs" else None)


def wait():
    if flags.device == "cuda":
        torch.cuda.synchronize()


def main():
    torch.manual_seed(flags.seed)
    torch.set_num_threads(flags.threads)
    images, labels = (torch.from_numpy(a[: flags.images]) for a in read_split(flags.data, "train"))
    images = images.reshape(-1, *SAMPLE[flags.model])
    model = network().to(flags.device)
    step = make_step(model)
    about = {"peer": "torch2", "version": torch.__version__, "mode": flags.mode, "device": flags.device}

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
                emit(**about, first_step_seconds=round(time.perf_counter() - start, 4))
                first = False
        loss = total.item() / len(images)
        emit(**about, epoch=epoch, seconds=round(time.perf_counter() - start, 4), images=len(images),
             loss=round(loss, 6))

    latencies = []
    chosen = torch.arange(flags.batch)
    while len(latencies) < 110 and (len(latencies) < 6 or sum(latencies) < 5e3):
        start = time.perf_counter()
        step(*batch(chosen)).item()
        latencies.append(1e3 * (time.perf_counter() - start))
    emit(**about, step_ms=round(statistics.median(latencies[3:]), 3))

    model.eval()
    images, labels = (torch.from_numpy(a) for a in read_split(flags.data, "t10k"))
    with torch.inference_mode():
        outputs = model(images.reshape(-1, *SAMPLE[flags.model]).to(flags.device))
    emit(**about, test_accuracy=round((outputs.argmax(1).cpu() == labels).float().mean().item(), 4))


main()
