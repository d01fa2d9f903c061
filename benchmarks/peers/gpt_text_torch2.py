"""Trains the GPT of examples/gpt in PyTorch 2 on the same text, for the losses after each epoch:

    build/peers/pytorch/bin/python benchmarks/peers/gpt_text_torch2.py --text docs --epochs 2
"""

import argparse
import pathlib
import time

import torch
from torch.nn import functional
from torch_gpt import GPT

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--text", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "docs")
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--seed", type=int, default=1)
flags = parser.parse_args()
torch.set_num_threads(flags.threads)
torch.manual_seed(flags.seed)

files = sorted(path for path in flags.text.rglob("*") if path.suffix in (".md", ".txt"))
text = b"".join(path.read_bytes() for path in files)
numbers = {character: i for i, character in enumerate(sorted(set(text)))}
tokens = torch.tensor([numbers[character] for character in text])
count = (len(text) - 1) // GPT.STEPS
inputs = tokens[: count * GPT.STEPS].reshape(count, GPT.STEPS)
targets = tokens[1: count * GPT.STEPS + 1].reshape(count, GPT.STEPS)
training = count - int(0.1 * count)

model = GPT(len(numbers))
optimizer = torch.optim.Adam(model.parameters(), 1e-3, eps=1e-7, fused=True)


def loss_of(rows):
    return functional.cross_entropy(model(inputs[rows]).flatten(0, 1), targets[rows].flatten())


for epoch in range(1, flags.epochs + 1):
    begin = time.perf_counter()
    for rows in torch.randperm(training).split(flags.batch):
        loss = loss_of(rows)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    seconds = time.perf_counter() - begin
    with torch.no_grad():
        parts = [(loss_of(rows), len(rows)) for rows in torch.arange(training, count).split(flags.batch)]
    validation = sum(float(loss) * rows for loss, rows in parts) / (count - training)
    print(f"epoch {epoch}  {training * GPT.STEPS / seconds:.0f} tokens/s  validation loss {validation:.4f}", flush=True)
