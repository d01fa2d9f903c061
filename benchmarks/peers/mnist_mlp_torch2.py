"""The MNIST perceptron (784-400-400-500-10, ReLU, Adam 1e-3) in PyTorch 2 on the CPU, eager (--compiled 0) or
compiled (--compiled 1).

As fast as we could get both. Tried at batch 100 with two threads of an Intel Xeon (family 6, model 207, AVX-512) with
PyTorch 2.15 and MKL, in one process in turns, epoch by epoch; seconds for an epoch once compiled, scaled up from
10,000 images, least and median of twelve (the machine's clock wanders by a third):

    2.18  2.44   eager, Adam with neither foreach nor fused
    2.12  2.39   ... foreach=True
    1.59  1.93   ... fused=True: kept as eager
    1.60  1.84   forward and backward under torch.compile, fused Adam not
    1.60  1.79   ... with mode="max-autotune" (with cpp_wrapper 1.62, 1.80)
    1.28  1.47   forward, backward and Adam as one graph
    1.26  1.35   ... with mode="max-autotune": kept as compiled
    1.28  1.46   ... with cpp_wrapper, which saves Python's calls
    1.28  1.49   ... with both
    1.34  1.45   ... with cpp_wrapper and five steps in a graph
    1.26  1.36   ... with both and the kernels stored as (inputs, outputs)

With Intel's OpenMP preloaded and its threads pinned (KMP_AFFINITY, KMP_BLOCKTIME=1) both are no faster.
The first epoch's seconds hold the compilation, up to half a minute on two cores.
"""

from mnist_data import keep_freed_memory, parse_flags

flags = parse_flags("train the MNIST perceptron with PyTorch 2", switches=["compiled"], modes=["bfloat16"])
keep_freed_memory()

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch2_training import make_step, train_epoch  # noqa: E402
from torch_models import emit_accuracy, emit_epochs, perceptron, prepare  # noqa: E402


def cross_entropy(model, images, labels, chosen):
    logits = model(images.index_select(0, chosen))
    return functional.cross_entropy(logits, labels.index_select(0, chosen))


def main():
    images, labels = prepare(flags)
    model = perceptron()
    step = make_step(model, cross_entropy, flags.compiled, mode="max-autotune", bfloat16=flags.bfloat16)
    emit_epochs(flags, {"peer": "torch2", "compiled": bool(flags.compiled)}, images,
                lambda: train_epoch(step, images, labels, flags.batch))
    emit_accuracy(flags, {"peer": "torch2"}, model)


main()
