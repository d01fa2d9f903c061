"""Runs an ONNX file with the samples of a binary file as its batch.

    python run_onnx.py FILE SAMPLES RESULT [onnxruntime | openvino]

SAMPLES and RESULT are numbers in single precision, one behind the other.
"""

import sys

import numpy as np


def by_onnxruntime(path):
    import onnxruntime

    # Where the processor lacks VNNI, ONNX Runtime by default adds pairs of products of bytes in 16 bits, which overflow.
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    argument = session.get_inputs()[0]
    return argument.shape[1:], lambda x: session.run(None, {argument.name: x})[0]


def by_openvino(path):
    import openvino

    core = openvino.Core()
    model = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    shape = [extent.get_length() for extent in list(model.inputs[0].get_partial_shape())[1:]]
    return shape, lambda x: model([x])[0]


runtime = sys.argv[4] if len(sys.argv) > 4 else "onnxruntime"
sample, run = {"onnxruntime": by_onnxruntime, "openvino": by_openvino}[runtime](sys.argv[1])
samples = np.fromfile(sys.argv[2], dtype=np.float32).reshape(-1, *sample)
run(samples).astype(np.float32).tofile(sys.argv[3])
