"""The MNIST convolutional network in PyTorch on the CPU.

28x28x1 - conv 64 2x2 same, ReLU, pool 2x2, dropout 0.3 - conv 32 2x2 same, ReLU, pool 2x2, dropout 0.3 -
dense 256, ReLU, dropout 0.5 - dense 10; Adam 1e-3.

Written for Debian's python3-torch 1.13, and as fast as we could get it there. Tried at batch 1024 with two
threads on a busy machine, seconds for an epoch (scaled up from 5,000 images; repeats differ by a fifth):

    72    the plain model: NCHW, torch.nn.Dropout, torch.optim.Adam
    55    the same in channels_last
    29    ... with freed memory kept by malloc: else half the time goes to the kernel's page faults
    18    ... with dropout masks from 16 random bits for each element
    16    ... with pooling before ReLU
    16    ... with Adam's step under torch.jit.script: kept here
    26    the same in NCHW
    22    the same with the first convolution as a matrix product of shifted images
    44    the same without the kept memory; the peak is then 1.1 GB and not 1.4 GB
    21    the same with Debian's default OpenBLAS; one image at a time then takes up to 12 ms

Inference, for 10,000 images in batches of 250 and for one image (from NumPy to NumPy):

    0.80 s   290-510 us   the model itself in inference mode
    0.73 s   240-290 us   ... traced and frozen: kept here (batches of 100 and of 1000 are no faster)
    0.94 s   350-390 us   ... with optimize_for_inference
    0.67 s   250-400 us   traced and frozen in NCHW
             320-400 us   traced and frozen, one thread
"""

from mnist_data import emit_inference, keep_freed_memory, parse_flags, read_split, use_openmp_blas

flags = parse_flags("train the MNIST convolutional network with PyTorch", epochs=10, batch=1024)
keep_freed_memory()

use_openmp_blas(flags.threads)

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch_models import as_images, convnet, emit_epochs, prepare  # noqa: E402


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
        logits = model(as_images(images.index_select(0, chosen)))
        loss = functional.cross_entropy(logits, labels.index_select(0, chosen))
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(chosen)
    return total.item() / len(images)


def main():
    images, labels = prepare(flags)
    model = convnet()
    optimizer = adam(model.parameters())
    emit_epochs(flags, {"peer": "torch"}, images, lambda: train_epoch(model, optimizer, images, labels))

    frozen = torch.jit.freeze(torch.jit.trace(model.eval(), as_images(images[:1])))

    @torch.inference_mode()
    def predict(rows):
        return frozen(as_images(torch.from_numpy(rows))).numpy()

    def single(row):
        return predict(row[None])[0]

    emit_inference({"peer": "torch"}, predict, single, *read_split(flags.data, "t10k"), batch=250)


main()
