"""Runs an ONNX file by ONNX Runtime, with the samples of a binary file as its batch.

    python run_onnx.py FILE SAMPLES RESULT

SAMPLES and RESULT are numbers in single precision, one behind the other.
"""

import sys

import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
given = session.get_inputs()[0]
samples = np.fromfile(sys.argv[2], dtype=np.float32).reshape(-1, *given.shape[1:])
session.run(None, {given.name: samples})[0].astype(np.float32).tofile(sys.argv[3])
