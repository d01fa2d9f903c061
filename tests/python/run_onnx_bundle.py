"""Runs many ONNX models by ONNX Runtime in one process.

    python run_onnx_bundle.py MODELS RESULTS

MODELS is a sequence of models, each with its input: the lengths of both in bytes, the number of axes and the
extents (uint32), the model, and the input in single precision. RESULTS has for each the length of its output in
bytes, and that in single precision; or the length 2^32 - 1 where ONNX Runtime refuses the model.
"""

import struct
import sys

import numpy as np
import onnxruntime

onnxruntime.set_default_logger_severity(4)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
# As the file says it: what optimizers make of it is another question.
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL

with open(sys.argv[1], "rb") as models, open(sys.argv[2], "wb") as results:
    while header := models.read(12):
        of_model, of_input, rank = struct.unpack("<III", header)
        shape = struct.unpack(f"<{rank}I", models.read(4 * rank))
        model = models.read(of_model)
        x = np.frombuffer(models.read(of_input), np.float32).reshape(shape)
        try:
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            y = np.ascontiguousarray(session.run(None, {"x": x})[0], np.float32)
            results.write(struct.pack("<I", y.nbytes) + y.tobytes())
        except Exception as e:
            print(str(e).replace("\n", " ")[:300])
            results.write(struct.pack("<I", 0xFFFFFFFF))
