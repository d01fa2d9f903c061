"""Rows that are measured again under other conditions: with one core busy, with more threads."""

import dataclasses
import subprocess
from dataclasses import dataclass

from . import mnist_cnn, mnist_mlp, networks, onnx
from .contest import BUILD


@dataclass
class Row:
    """A network and what runs it. The time of a row is that of a batch."""

    title: str
    batch: int
    contestants: list


def shortened(contestants, images):
    """Contestants that train on fewer images than for their own table, without those that only predict or that the table
    times on a few images because they are slow."""
    return [dataclasses.replace(one, images=images) for one in contestants if one.epochs and one.images == 60000]


def digits():
    """Training of the networks of MNIST's digits."""
    return [Row("perceptron, training", 100, shortened(mnist_mlp.CONTESTANTS, 12000)),
            Row("convolutional network, training", 512, shortened(mnist_cnn.CONTESTANTS, 12288))]


def network(name, title=None):
    """A row of the networks that random numbers train or that compute outputs."""
    comparison = networks.COMPARISONS[name]
    return Row(title or comparison.title, comparison.BATCHES[0], comparison.contestants)


def files():
    """Inference from ONNX files with the larger batches."""
    folder = BUILD / "benchmarks" / "onnx"
    subprocess.run([str(BUILD / "benchmarks" / "onnx_report"), "--write", str(folder)], check=True)
    for name, (title, runs) in onnx.NETWORKS.items():
        batch = max(runs)
        yield Row(f"{title}, inference", batch, onnx.contestants(folder / f"{name}.onnx", runs[batch]))
