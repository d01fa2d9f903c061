"""The features of MobileNetV2 (width 1, 224x224, random weights) in PyTorch 2 on the CPU, eager (--compiled 0) or
compiled (--compiled 1).

As fast as we could get both. Tried with two threads of an Intel Xeon (family 6, model 207, AVX-512) with PyTorch 2.15,
in one process in turns; milliseconds an image at batch 32, channels_last, least and median of five:

    8.00  12.1   the plain model
    5.24  5.92   traced and frozen, whose kernels are the eager ones: kept as eager (in NCHW 8.56, 9.92)
    5.27  5.83   ... with optimize_for_inference
    6.31  19.2   torch.compile
    6.00  7.54   ... with freezing: kept as compiled
    6.54  7.38   ... and max_autotune
    6.14  6.55   ... and cpp_wrapper
"""

import time

from mnist_data import emit, keep_freed_memory, parse_flags

flags = parse_flags("compute MobileNetV2's features with PyTorch 2", epochs=3, batch=32,
                    switches=["compiled"], modes=["bfloat16"])
keep_freed_memory()

import torch  # noqa: E402
from torch_models import MobileNetV2  # noqa: E402


def main():
    torch.set_num_threads(flags.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(flags.seed)
    model = MobileNetV2().eval().to(memory_format=torch.channels_last)
    x = torch.randn(flags.batch, 3, 224, 224).contiguous(memory_format=torch.channels_last)
    passes = flags.images // flags.batch
    if flags.bfloat16:
        model, x = model.bfloat16(), x.bfloat16()
    with torch.no_grad():  # inference_mode would keep the compiler from freezing the weights
        if flags.compiled:
            model = torch.compile(model, dynamic=False, options={"freezing": True})
        else:
            model = torch.jit.freeze(torch.jit.trace(model, x))
        for epoch in range(1, flags.epochs + 1):
            start = time.perf_counter()
            for _ in range(passes):
                model(x)
            seconds = time.perf_counter() - start
            emit(peer="torch2", compiled=bool(flags.compiled), version=torch.__version__, epoch=epoch,
                 seconds=round(seconds, 4), images=passes * flags.batch)


main()
