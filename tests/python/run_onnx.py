"""Runs an ONNX file with the samples of a binary file as its batch.

    python run_onnx.py FILE SAMPLES RESULT [onnxruntime | openvino]

SAMPLES and RESULT are numbers in single precision, one after the other. If the file has several inputs, a sample
contains them one after the other, in the file's order. The result contains several outputs in the same way.
"""

import sys

import numpy as np


def by_onnxruntime(path):
    import onnxruntime

    # Where the processor lacks VNNI, ONNX Runtime by default adds pairs of products of bytes in 16 bits, which overflow.
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    arguments = session.get_inputs()
    names = [argument.name for argument in arguments]
    return [argument.shape[1:] for argument in arguments], lambda x: session.run(None, dict(zip(names, x)))


def by_openvino(path):
    import openvino

    core = openvino.Core()
    model = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    shapes = [[extent.get_length() for extent in list(argument.get_partial_shape())[1:]] for argument in model.inputs]
    return shapes, lambda x: list(model(x).values())


runtime = sys.argv[4] if len(sys.argv) > 4 else "onnxruntime"
shapes, run = {"onnxruntime": by_onnxruntime, "openvino": by_openvino}[runtime](sys.argv[1])
sizes = [int(np.prod(shape)) for shape in shapes]
rows = np.fromfile(sys.argv[2], dtype=np.float32).reshape(-1, sum(sizes))
parts = np.split(rows, np.cumsum(sizes)[:-1], axis=1)
results = run([np.ascontiguousarray(part).reshape(-1, *shape) for part, shape in zip(parts, shapes)])
np.concatenate([y.reshape(len(rows), -1) for y in results], axis=1).astype(np.float32).tofile(sys.argv[3])
