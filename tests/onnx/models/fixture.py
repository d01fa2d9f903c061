"""What make_torch_models.py and make_keras_models.py share: a file is checked, told of, and its arrays written."""

import argparse
import collections
import pathlib

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import save_file

TOLERANCE = 1e-5


def read_arguments(description: str, models) -> tuple[pathlib.Path, list[str]]:
    """The folder that is written into, which is made, and the names of the models that are wanted."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(models)}; all if none is given")
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    return given.folder, given.names or list(models)


def finish(folder: pathlib.Path, name: str, x: np.ndarray, y: np.ndarray) -> None:
    """Writes NAME.safetensors for NAME.onnx, once ONNX Runtime has given the same y (for one sample alone too)."""
    path = folder / f"{name}.onnx"
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    kind = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}[given.type]

    def difference(count: int) -> float:
        result = session.run(None, {given.name: x[:count].astype(kind)})[0]
        assert result.shape == y[:count].shape, (result.shape, y.shape)
        return float(np.abs(result - y[:count]).max())

    furthest = max(difference(len(x)), difference(1))
    assert furthest < TOLERANCE, f"{name}: {furthest}"
    arrays = {key: np.ascontiguousarray(a, dtype=np.float32) for key, a in {"x": x, "y": y}.items()}
    save_file(arrays, folder / f"{name}.safetensors")
    print(describe(path), f"max difference {furthest:.1e}", sep="\n  ", end="\n\n")


def describe(path: pathlib.Path) -> str:
    """A few lines on a file: its size, versions, inputs and outputs, and operators."""
    model = onnx.load(path, load_external_data=False)

    def operators(nodes) -> str:
        counts = collections.Counter(f"{n.domain}::{n.op_type}" if n.domain else n.op_type for n in nodes)
        return ", ".join(f"{op} {count}" for op, count in sorted(counts.items()))

    def shape(value) -> str:
        kind = value.type.tensor_type
        sizes = ",".join(d.dim_param or str(d.dim_value) for d in kind.shape.dim)
        return f"{value.name} {onnx.TensorProto.DataType.Name(kind.elem_type).lower()}({sizes})"

    made_by = f"{model.producer_name} {model.producer_version}"
    opsets = ", ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
    lines = [
        f"{path.name}: {path.stat().st_size} bytes, {made_by}, IR {model.ir_version}, {opsets}",
        f"inputs {', '.join(map(shape, model.graph.input))}; outputs {', '.join(map(shape, model.graph.output))}",
        operators(model.graph.node),
    ]
    for node in model.graph.node:
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else attribute.graphs
            lines += [f"{node.op_type}'s {attribute.name}: {operators(graph.node)}" for graph in graphs]
    lines += [f"function {f.domain}::{f.name}: {operators(f.node)}" for f in model.functions]
    outside = [t.name for t in model.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
    if outside:
        lines.append(f"in other files: {', '.join(outside)}")
    return "\n  ".join(lines)
