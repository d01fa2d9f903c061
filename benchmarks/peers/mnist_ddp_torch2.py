"""The MNIST perceptron or convolutional network in PyTorch 2 on two processes: DistributedDataParallel over gloo, each
process with its half of every batch and of the threads; eager, as benchmarks/peers/mnist_mlp_torch2.py and
mnist_cnn_torch2.py have found to be fastest beside what is compiled.

Buckets are DistributedDataParallel's own (25 MB), and gradients are views of them, which saves a copy.
"""

import json
import os
import resource
import socket
import time

from mnist_data import keep_freed_memory, parse_flags

flags = parse_flags("train on two processes with PyTorch 2", choices={"network": ["mlp", "cnn"]})
PROCESSES = 2
flags.threads = max(flags.threads // PROCESSES, 1)
keep_freed_memory()

import torch  # noqa: E402
from torch import distributed, multiprocessing  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from torch_models import as_images, convnet, perceptron, prepare  # noqa: E402


def train(rank, port):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % os.cpu_count()]})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    distributed.init_process_group("gloo", rank=rank, world_size=PROCESSES)
    images, labels = prepare(flags)
    plain = perceptron() if flags.network == "mlp" else convnet()
    model = DistributedDataParallel(plain, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    for epoch in range(1, flags.epochs + 1):
        start = time.perf_counter()
        total = torch.zeros(())
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        for batch in order.split(flags.batch):
            own = batch[rank * len(batch) // PROCESSES:(rank + 1) * len(batch) // PROCESSES]
            chosen = images.index_select(0, own)
            logits = model(chosen if flags.network == "mlp" else as_images(chosen))
            loss = functional.cross_entropy(logits, labels.index_select(0, own))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(own)
        loss = total.item() / len(images) * PROCESSES
        if rank == 0:
            print(json.dumps({"peer": "torch2", "version": torch.__version__, "epoch": epoch, "loss": loss,
                              "seconds": time.perf_counter() - start, "images": len(images),
                              "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}), flush=True)
    distributed.barrier()
    # Ends without taking gloo apart: a process that still does so aborts when the other has closed its connection.
    os._exit(0)


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own_port = str(free.getsockname()[1])
    multiprocessing.spawn(train, args=(own_port,), nprocs=PROCESSES)
