"""Small networks in PyTorch 2 on the CPU, eager (--compiled 0) or compiled (--compiled 1): training steps of perceptrons
on one batch, epochs of LeNet-5 on MNIST, and single samples through an LSTM."""

import time

from mnist_data import emit, emit_passes, keep_freed_memory, parse_flags, read_split
from small_networks import NETWORKS, SIZES, batch_of

flags = parse_flags("time a small network with PyTorch 2", epochs=3, batch=200, switches=["compiled"],
                    choices={"network": NETWORKS})
keep_freed_memory()

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch2_training import make_step, train_epoch  # noqa: E402

ABOUT = {"peer": "torch2", "compiled": bool(flags.compiled), "version": torch.__version__}


def perceptron():
    sizes, layers = SIZES[flags.network], []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU() if flags.network == "table" else nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def plain_step(model, loss):
    """A step of gradient descent."""
    parameters = list(model.parameters())
    rate = 1e-3

    def step(x, y):
        gradients = torch.autograd.grad(loss(model, x, y), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                parameter.sub_(gradient, alpha=rate)
        return gradients[0]

    if not flags.compiled:
        return step
    from torch.func import functional_call, grad

    values = {name: value.detach() for name, value in model.named_parameters()}
    gradient_of = grad(lambda values, x, y: loss(lambda inputs: functional_call(model, values, inputs), x, y))

    @torch.compile(dynamic=False)
    def update(x, y):
        gradients = gradient_of(values, x, y)
        for name, value in values.items():
            value.sub_(gradients[name], alpha=rate)
        return gradients["0.weight"]

    return torch.no_grad()(update)


def train():
    x, y = (torch.from_numpy(array) for array in batch_of(flags.network, flags.batch, flags.seed))
    model = perceptron()
    if flags.network == "table":
        step = make_step(model, lambda model, x, y: nn.functional.cross_entropy(model(x), y), flags.compiled)
        y = y.long()
    else:
        def loss(model, x, y):
            return nn.functional.mse_loss(model(x), y)

        step = plain_step(model, loss) if flags.network == "gradient" else make_step(model, loss, flags.compiled)
    emit_passes(flags, ABOUT, lambda: step(x, y), lambda last: last.sum().item())


def train_lenet():
    images, labels = read_split(flags.data, "train")
    images = torch.from_numpy(images[: flags.images]).reshape(-1, 1, 28, 28)
    labels = torch.from_numpy(labels[: flags.images])
    model = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                          nn.Linear(84, 10))
    step = make_step(model, lambda model, images, labels, chosen: nn.functional.cross_entropy(
        model(images.index_select(0, chosen)), labels.index_select(0, chosen)), flags.compiled)
    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        train_epoch(step, images, labels, flags.batch)
        emit(**ABOUT, epoch=epoch, seconds=round(time.perf_counter() - start, 4), images=len(images))


class Effect(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(1, 20)
        self.top = nn.Linear(20, 1)

    def forward(self, x, h, c):
        h, c = self.cell(x, (h, c))
        return self.top(h), h, c


@torch.inference_mode()
def run_stream():
    x, h, c = torch.full((1, 1), 0.5), torch.zeros(1, 20), torch.zeros(1, 20)
    model = Effect().eval()
    model = torch.compile(model, dynamic=False) if flags.compiled else torch.jit.freeze(torch.jit.trace(model, (x, h, c)))
    state = [h, c]

    def step():
        y, *state[:] = model(x, *state)
        return y

    emit_passes(flags, ABOUT, step, lambda last: last.sum().item())


def main():
    torch.set_num_threads(flags.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(flags.seed)
    {"lenet": train_lenet, "lstm_stream": run_stream}.get(flags.network, train)()


main()
