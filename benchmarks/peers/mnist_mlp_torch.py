"""The MNIST perceptron (784-400-400-500-10, ReLU, Adam 1e-3) in PyTorch on the CPU.

Written for Debian's python3-torch 1.13, and as fast as we could get it there. Tried at batch 100 with
two threads on a busy machine, seconds for an epoch (scaled up from 10,000 images; repeats differ by a
fifth):

    16    Debian's default OpenBLAS: its own threads and torch's OpenMP ones fight for the cores
     5.3  the same with OMP_WAIT_POLICY=passive
     3.7  OpenBLAS built on OpenMP, torch.optim.Adam
     4.8  ... Adam with foreach=True (its fused=True is for CUDA only)
     4.8  ... Adam on one flat parameter vector
     4.8  ... activations kept in oneDNN's layout (to_mkldnn)
     3.5  ... the model under torch.jit.script (trace is the same)
     3.2  ... Adam's step under torch.jit.script, the scalars folded: kept here
     3.2  ... both scripted
"""

from mnist_data import parse_flags, use_openmp_blas

flags = parse_flags("train the MNIST perceptron with PyTorch")

use_openmp_blas(flags.threads)

import torch  # noqa: E402
from torch_models import emit_accuracy, emit_epochs, perceptron, prepare  # noqa: E402


@torch.jit.script
def adam_step(parameter, gradient, mean, variance, rate: float, epsilon: float):
    mean.mul_(0.9).add_(gradient, alpha=0.1)
    variance.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
    parameter.addcdiv_(mean, variance.sqrt().add_(epsilon), value=-rate)


class adam:
    """torch.optim.Adam's arithmetic; both bias corrections go into two scalars and not over tensors."""

    def __init__(self, parameters):
        self.state = [(p, torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        correction = (1 - 0.999**self.steps) ** 0.5
        rate = 1e-3 * correction / (1 - 0.9**self.steps)
        for parameter, mean, variance in self.state:
            adam_step(parameter, parameter.grad, mean, variance, rate, 1e-8 * correction)
            parameter.grad = None


def train_epoch(model, optimizer, images, labels):
    total = torch.zeros(())
    for chosen in torch.randperm(len(images)).split(flags.batch):
        logits = model(images.index_select(0, chosen))
        loss = torch.nn.functional.cross_entropy(logits, labels.index_select(0, chosen))
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(chosen)
    return total.item() / len(images)


def main():
    images, labels = prepare(flags)
    model = perceptron()
    optimizer = adam(model.parameters())
    emit_epochs(flags, {"peer": "torch"}, images, lambda: train_epoch(model, optimizer, images, labels))
    emit_accuracy(flags, {"peer": "torch"}, model)


main()
