"""The features of MobileNetV2 (width 1, 224x224, random weights) in PyTorch on the CPU.

Written for Debian's python3-torch 1.13, which has no torchvision. Milliseconds an image at batch 32, two threads of an
AMD EPYC (Zen 3), 2026-11-21, NCHW and channels_last:

    13.8  10.4   the plain model in inference mode: --optimized 0, with --nchw 1 and 0
    10.9   6.8   traced and frozen, which folds the batch normalization
     6.2         ... with optimize_for_inference, which hands convolutions to oneDNN: the default here
"""

import time

from mnist_data import emit, keep_freed_memory, parse_flags, use_openmp_blas

flags = parse_flags("compute MobileNetV2's features with PyTorch", epochs=3, batch=32,
                    switches=["optimized", "nchw"])
keep_freed_memory()
use_openmp_blas(flags.threads)

import torch  # noqa: E402
from torch_models import MobileNetV2  # noqa: E402


def main():
    torch.set_num_threads(flags.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(flags.seed)
    form = torch.contiguous_format if flags.nchw else torch.channels_last
    model = MobileNetV2().eval().to(memory_format=form)
    x = torch.randn(flags.batch, 3, 224, 224).contiguous(memory_format=form)
    passes = flags.images // flags.batch
    with torch.inference_mode():
        if flags.optimized:
            model = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, x)))
        for epoch in range(1, flags.epochs + 1):
            start = time.perf_counter()
            for _ in range(passes):
                model(x)
            seconds = time.perf_counter() - start
            emit(peer="torch", version=torch.__version__, epoch=epoch, seconds=round(seconds, 4),
                 images=passes * flags.batch)


main()
