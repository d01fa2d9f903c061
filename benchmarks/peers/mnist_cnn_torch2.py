"""The MNIST convolutional network in PyTorch 2 on the CPU, eager (--compiled 0) or compiled (--compiled 1).

28x28x1 - conv 64 2x2 same, ReLU, pool 2x2, dropout 0.3 - conv 32 2x2 same, ReLU, pool 2x2, dropout 0.3 -
dense 256, ReLU, dropout 0.5 - dense 10; Adam 1e-3.

As fast as we could get both. Tried at batch 512 with two threads of an Intel Xeon (family 6, model 207, AVX-512) with
PyTorch 2.15, in one process in turns; seconds for an epoch once compiled, scaled up from 5,120 images, least and median
of five (the machine's clock wanders by a third). Freed memory is kept by malloc, Adam is the fused one, and pooling
comes before ReLU in all:

    31.8  34.6   eager, NCHW, torch's dropout
    25.6  27.3   ... in channels_last
    14.3  17.2   ... with dropout masks from 16 random bits for each element: kept as eager
    23.4  27.9   the same in NCHW
    16.3  16.9   the same with the first convolution as a matrix product of shifted images
    49.4  60.5   the same with pooling as the maximum of slices

Compiled; forward, backward and Adam as one graph if not told otherwise, channels_last, torch's dropout:

    33.4  37.8   the plain model (in NCHW 36.0, 38.6)
    37.0  42.9   forward and backward compiled, fused Adam not
    27.8  32.2   dropout by torch.rand
    40.8  41.0   pooling as the maximum of slices (in NCHW 38.2, 40.4)
    21.6  23.2   ... and the first convolution as a matrix product
    28.3  30.5   ... and the first convolution as a sum of products
    29.2  31.4   ... and both convolutions as matrix products
    16.6  17.8   dropout masks from 16 random bits: kept as compiled (eager in that process: 14.8, 18.2)
    59.9  64.6   ... and pooling as the maximum of slices

Inference, for 10,000 images in batches of 250 and for one image (from NumPy to NumPy; median and 99th percentile):

    0.85 s   216 us  433 us   traced and frozen, whose kernels are the eager ones: kept as eager
    0.79 s   370 us  537 us   torch.compile with freezing: kept as compiled
"""

from mnist_data import emit_inference, keep_freed_memory, parse_flags, read_split

flags = parse_flags("train the MNIST convolutional network with PyTorch 2", epochs=10, batch=1024,
                    switches=["compiled"])
keep_freed_memory()

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch2_training import make_step, train_epoch  # noqa: E402
from torch_models import as_images, convnet, emit_epochs, prepare  # noqa: E402


def cross_entropy(model, images, labels, chosen):
    logits = model(as_images(images.index_select(0, chosen)))
    return functional.cross_entropy(logits, labels.index_select(0, chosen))


def inference_model(model, images):
    if flags.compiled:
        return torch.compile(model, dynamic=False, options={"freezing": True})
    return torch.jit.freeze(torch.jit.trace(model, images))


def main():
    images, labels = prepare(flags)
    model = convnet()
    step = make_step(model, cross_entropy, flags.compiled)
    emit_epochs(flags, {"peer": "torch2", "compiled": bool(flags.compiled)}, images,
                lambda: train_epoch(step, images, labels, flags.batch))

    frozen = inference_model(model.eval(), as_images(images[:1]))

    @torch.no_grad()
    def predict(rows):
        return frozen(as_images(torch.from_numpy(rows))).numpy()

    def single(row):
        return predict(row[None])[0]

    emit_inference({"peer": "torch2"}, predict, single, *read_split(flags.data, "t10k"), batch=250)


main()
