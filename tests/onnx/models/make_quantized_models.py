"""Writes networks that ONNX Runtime has quantised to 8 bits, for the tests that read ONNX files.

    pip install onnx onnxruntime safetensors
    python make_quantized_models.py FOLDER [NAME...]

FOLDER/quantized gets, of each network NAME.onnx in FOLDER, NAME_signed.onnx (activations with signs, weights with a scale
for each output) and NAME_unsigned.onnx (activations without, weights with one scale), and beside each a .safetensors file
of "x", a batch of inputs, "y", what ONNX Runtime gives for them node by node, and "float", what the network gave before.
"""

import pathlib
import tempfile

import numpy as np
import onnxruntime
from fixture import read_arguments
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from safetensors.numpy import save_file

MODELS = ["torch_cnn_legacy", "torch_mlp", "torch_transfer_legacy_norms"]
KINDS = {
    "signed": {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8, "per_channel": True},
    "unsigned": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, "per_channel": False},
}
BATCH = 8


class Samples(CalibrationDataReader):
    def __init__(self, name: str, batches: list[np.ndarray]):
        self.left = [{name: batch} for batch in batches]

    def get_next(self):
        return self.left.pop() if self.left else None


def run(path: pathlib.Path, x: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def main() -> None:
    folder, names = read_arguments(__doc__, MODELS)
    random = np.random.default_rng(1)
    (folder / "quantized").mkdir(exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            prepared = pathlib.Path(scratch) / "prepared.onnx"
            quant_pre_process(folder / f"{name}.onnx", prepared, skip_symbolic_shape=True)
            given = onnxruntime.InferenceSession(prepared, providers=["CPUExecutionProvider"]).get_inputs()[0]
            shape = [BATCH, *given.shape[1:]]
            batches = [random.normal(size=shape).astype(np.float32) for _ in range(8)]
            x = random.normal(size=shape).astype(np.float32)
            for kind, how in KINDS.items():
                path = folder / "quantized" / f"{name}_{kind}.onnx"
                quantize_static(prepared, path, Samples(given.name, batches), quant_format=QuantFormat.QDQ, **how)
                arrays = {"x": x, "y": run(path, x), "float": run(prepared, x)}
                save_file(arrays, path.with_suffix(".safetensors"))
                print(f"{path.name}: {np.abs(arrays['y'] - arrays['float']).max():.3g} from float")


if __name__ == "__main__":
    main()
