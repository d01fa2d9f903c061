"""Prints what TensorBoard makes of a folder of event files, as its pages show it.

    python read_events.py FOLDER

A line for each scalar, "TAG STEP VALUE", and for each histogram, "TAG STEP LEFT RIGHT COUNT ..."
with the three numbers of each bucket; by tag and step.
"""

import sys

from tensorboard.backend.event_processing import plugin_event_accumulator as accumulators
from tensorboard.util import tensor_util

events = accumulators.EventAccumulator(sys.argv[1], size_guidance={"tensors": 0})
events.Reload()
for tag in sorted(events.Tags()["tensors"]):
    for event in events.Tensors(tag):
        values = tensor_util.make_ndarray(event.tensor_proto).reshape(-1)
        print(tag, event.step, *(format(float(value), ".9g") for value in values))
