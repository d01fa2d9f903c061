"""Writes tests/onnx/operator_cases.bin.gz: models of one operator each, with an input and what they must give.

    python make_operator_cases.py FILE [PREFIX]

Needs the packages onnx and onnxruntime; the tests need neither. Numbers are ONNX Runtime's where it has the
operator, and else those of ONNX's ReferenceEvaluator. Where the two differ, the definition's text decides: see
`DECIDED`. Each operator is written in up to four forms:

- direct: its data are the samples, which have its first axis
- packed: its data are computed from one sample, so that no axis is that of the samples
- folded: all of its operands are Constant nodes, and known as the file is read
- weights: all of its operands are initializers

The file is a sequence of records: name, model, input and output, each behind its length (uint32, little-endian).
"""

import gzip
import struct
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

warnings.simplefilter("ignore")
onnxruntime.set_default_logger_severity(4)

INF, NAN = np.inf, np.nan
F, D, H = np.float32, np.float64, np.float16
I64, I32 = np.int64, np.int32
CASES = []
NAMES = set()

# The cases for which ONNX Runtime does not do what the definition says, by the beginnings of their names; the
# numbers are the ReferenceEvaluator's.
REFERENCE = (
    # It passes over what is not a number, which NumPy, of which the definition is made, does not.
    "ReduceMax/13/edges", "ReduceMax/18/edges", "ReduceMin/13/edges", "ReduceMin/18/edges",
    *(f"ReduceLogSumExp/{o}/edges{k}/" for o in (13, 18) for k in ("", "_4", "_10")),
    # It takes casts to half precision and back for nothing.
    "Add/14/half",
    # x / (sqrt(variance) + 1e-9) of a constant.
    "MeanVarianceNormalization/9/constant",
)
# The cases for which neither gives what the definition says: name -> what is right.
DECIDED = {}


class S:
    """An operand that depends on the samples in the forms that have such."""

    def __init__(self, values, dtype=F):
        self.values = np.asarray(values, dtype)


def f(*values):
    return np.array(values, F)


def rng(*shape, seed=0, low=-3.0, high=3.0):
    r = np.random.default_rng(seed)
    return (r.uniform(low, high, shape) * 8).round().astype(F) / F(8)


def case(op, inputs, attributes=None, opset=17, outputs=1, forms="packed folded weights", name=""):
    base = f"{op}/{opset}/{name}" if name else f"{op}/{opset}"
    known, number = base, 2
    while known in NAMES:
        known, number = f"{base}_{number}", number + 1
    NAMES.add(known)
    for form in forms.split():
        CASES.append((f"{known}/{form}", op, inputs, attributes or {}, opset, outputs, form))


def values_of(operand):
    return operand.values if isinstance(operand, S) else operand


def model_of(op, inputs, attributes, opset, outputs, form):
    nodes, initializers, names = [], [], []

    def constant(name, value, weight=False):
        t = numpy_helper.from_array(np.asarray(value), name)
        if weight:
            initializers.append(t)
        else:
            nodes.append(helper.make_node("Constant", [], [name], value=t))
        return name

    data = [i for i in inputs if isinstance(i, S)]
    if form == "direct":
        assert len(data) == 1 and data[0].values.ndim > 0
        x = data[0].values.astype(F)
        shape = ["N", *x.shape[1:]]
    elif form == "packed":
        parts = [d.values.astype(F).reshape(-1) for d in data]
        x = np.concatenate([*parts, np.zeros(1, F)]).reshape(1, -1)
        shape = list(x.shape)
    else:
        x = np.zeros((1, 1), F)
        shape = [1, 1]
    begin = 0
    for number, operand in enumerate(inputs):
        name = f"in{number}"
        if operand is None:
            names.append("")
        elif not isinstance(operand, S) or form in ("folded", "weights"):
            names.append(constant(name, values_of(operand), form == "weights" or
                                  (form != "folded" and values_of(operand).dtype in (F, D, H))))
        elif form == "direct":
            names.append("x")
            if operand.values.dtype != F:
                nodes.append(helper.make_node("Cast", ["x"], ["xc"], to=type_of(operand.values)))
                names[-1] = "xc"
        else:
            count = operand.values.size
            if opset < 10:
                nodes.append(helper.make_node("Slice", ["x"], [name + "s"], axes=[1], starts=[begin], ends=[begin + count]))
            else:
                nodes.append(helper.make_node("Slice", ["x", constant(name + "b", np.array([begin], I64)),
                                                        constant(name + "e", np.array([begin + count], I64)),
                                                        constant(name + "a", np.array([1], I64))], [name + "s"]))
            nodes.append(helper.make_node("Reshape", [name + "s", constant(name + "r", np.array(operand.values.shape, I64))],
                                          [name + "f"]))
            if operand.values.dtype != F:
                nodes.append(helper.make_node("Cast", [name + "f"], [name], to=type_of(operand.values)))
            names.append(name if operand.values.dtype != F else name + "f")
            begin += count
    while names and names[-1] == "":
        names.pop()
    outs = [f"out{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    nodes.append(helper.make_node(op, names, outs, name="node", **attributes))
    outs = [o for o in outs if o]
    if form == "direct":
        nodes.append(helper.make_node("Cast", [outs[0]], ["y"], to=1))
        y_shape = None
    else:
        flat = []
        for o in outs:
            nodes.append(helper.make_node("Cast", [o], [o + "c"], to=1))
            nodes.append(helper.make_node("Reshape", [o + "c", constant(o + "r", np.array([1, -1], I64))], [o + "f"]))
            nodes.append(helper.make_node("Shape", [o], [o + "s"]))
            nodes.append(helper.make_node("Cast", [o + "s"], [o + "sc"], to=1))
            nodes.append(helper.make_node("Reshape", [o + "sc", o + "r"], [o + "sf"]))
            flat += [o + "f", o + "sf"]
        nodes.append(helper.make_node("Concat", flat, ["joined"], axis=1))
        if form == "packed":
            nodes.append(helper.make_node("Identity", ["joined"], ["y"]))
        else:
            nodes.append(helper.make_node("Add", ["x", "joined"], ["y"]))
    if form == "folded":  # or its constants would be taken for weights
        initializers.append(numpy_helper.from_array(np.zeros(1, F), "unused"))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, shape)],
                              [helper.make_tensor_value_info("y", 1, None)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8 if opset < 19 else 9
    return model, x


def type_of(a):
    return helper.np_dtype_to_tensor_dtype(a.dtype)


def by_onnxruntime(model, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def close(a, b, rtol=1e-5, atol=1e-6):
    return a.shape == b.shape and np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)


EDGES = f(0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 1e-6, -1e-6, 1e-20, 1e20, -1e20, INF, -INF, NAN,
          4194303.5, 4194304.5, 4194305.5, -4194305.5, 8388607.5, 8388609, 3e9, -3e9, 0.49999997, -0.49999997, 7)
ALL = "direct packed folded weights"

# --- element by element
for op in "Abs Ceil Floor Neg Sign Round IsNaN Erf Exp Log Sqrt Reciprocal Relu Sigmoid Tanh Softplus Softsign".split():
    case(op, [S(EDGES.reshape(2, -1))], opset=13, forms=ALL, name="edges")
    if op not in ("Round", "IsNaN"):
        case(op, [S(EDGES.reshape(2, -1))], opset=9 if op in ("Sign", "Erf") else 7, name="edges")
for op in "Abs Neg Sign".split():
    case(op, [S([[0, 3, -3, 7]], I64)], opset=13, name="integers")
case("Erf", [S(np.concatenate([np.logspace(-8, 1, 40), -np.logspace(-8, 1, 40)]).astype(F).reshape(2, -1))], opset=13, forms=ALL, name="small")
case("HardSwish", [S(EDGES.reshape(2, -1))], opset=14, forms=ALL)
case("Mish", [S(EDGES.reshape(2, -1))], opset=18, forms=ALL)
case("Not", [S([[1, 0, 1]], bool)], opset=7)
for pos in (0, 1):
    for neg in (0, 1):
        case("IsInf", [S(EDGES.reshape(2, -1))], dict(detect_positive=pos, detect_negative=neg), opset=10, forms=ALL)
case("IsInf", [S(EDGES.reshape(2, -1))], opset=20)
small = np.concatenate([EDGES[:19], f(0.1, -0.1, 2, -2, 3, -3, 5, 6, 7)]).reshape(2, -1)
for alpha in (None, 0.3, 0.0, -0.5, 2.0):
    a = {} if alpha is None else dict(alpha=alpha)
    for op in "LeakyRelu Elu ThresholdedRelu".split():
        case(op, [S(small)], a, opset=16 if op == "LeakyRelu" else 10, forms=ALL, name=f"alpha{alpha}")
    if alpha != 0.0:
        case("Celu", [S(small)], a, opset=12, forms=ALL, name=f"alpha{alpha}")
    for beta in (None, 0.0, -0.4):
        b = dict(a) if beta is None else dict(a, beta=beta)
        case("HardSigmoid", [S(small)], b, opset=7, name=f"alpha{alpha}beta{beta}")
    for gamma in (None, 0.5, -1.0):
        g = dict(a) if gamma is None else dict(a, gamma=gamma)
        case("Selu", [S(small)], g, opset=7, name=f"alpha{alpha}gamma{gamma}")
for lambd in (None, 0.0, 1.5, -0.5):
    for bias in (None, 0.25, -1.0):
        a = {} if lambd is None else dict(lambd=lambd)
        case("Shrink", [S(small)], a if bias is None else dict(a, bias=bias), opset=9, name=f"lambd{lambd}bias{bias}")
for approximate in ("none", "tanh"):
    case("Gelu", [S(small)], dict(approximate=approximate), opset=20, forms=ALL, name=approximate)
case("Gelu", [S(small)], opset=20)
case("PRelu", [S(small), f(0.25)], opset=16, forms=ALL)
case("PRelu", [S(small), rng(2, 14)], opset=16)
case("PRelu", [S(f(0, -0.0, 1, -1, INF, -INF, NAN)), f(INF)], opset=16, name="infinite_slope", forms="packed folded")
case("PRelu", [S(rng(2, 3, 4)), rng(3, 1, seed=1)], opset=16, forms=ALL)
case("PRelu", [S(rng(2, 3, 4)), S(rng(3, 1, seed=1))], opset=7)

# bounds
for low, high in ((-1, 1), (0, 6), (0, None), (None, 2), (None, None), (2, -2), (0, 1e30), (-INF, 1), (0, INF)):
    a = {k: v for k, v in (("min", low), ("max", high)) if v is not None}
    if low != -INF and high != INF:
        case("Clip", [S(small)], {k: float(v) for k, v in a.items()}, opset=6, name=f"{low}_{high}", forms=ALL)
    operands = [S(small), None if low is None else np.array(low, F), None if high is None else np.array(high, F)]
    case("Clip", operands, opset=11, name=f"{low}_{high}", forms=ALL)
    case("Clip", operands, opset=13, name=f"{low}_{high}", forms=ALL)
    operands = [S(small), None if low is None else S(np.array(low, F)), None if high is None else S(np.array(high, F))]
    case("Clip", operands, opset=13, name=f"{low}_{high}_given", forms="packed")
case("Clip", [S([[-5, 0, 5, 100]], I64), np.array(-3, I64), np.array(4, I64)], opset=13, name="integers")

# two operands
pairs = np.array([[a, b] for a in (0.0, -0.0, 1.0, -2.0, 2.5, INF, -INF, NAN) for b in (0.0, -0.0, 1.0, -1.0, 3.0, INF, -INF, NAN)], F)
A, B = pairs[:, 0].copy(), pairs[:, 1].copy()
for op in "Add Sub Mul Div Max Min Equal Greater Less GreaterOrEqual LessOrEqual Mean Sum".split():
    opset = 13 if op not in ("GreaterOrEqual", "LessOrEqual") else 12
    case(op, [S(A), S(B)], opset=opset, name="edges")
    case(op, [S(A), B], opset=opset, name="edges_right")
    case(op, [A, S(B)], opset=opset, name="edges_left")
    for number in (0.0, -0.0, 2.0, -0.5, 3.0, INF, NAN):
        case(op, [S(A.reshape(2, -1)), np.array(number, F)], opset=opset, name=f"by{number}", forms="direct packed folded")
        case(op, [np.array([number], F), S(A.reshape(2, -1))], opset=opset, name=f"of{number}", forms="direct packed folded")
    case(op, [S(rng(2, 1, 3)), S(rng(4, 1, seed=2))], opset=opset, name="broadcast")
    case(op, [S(rng(3)), S(rng(2, 4, 3, seed=2))], opset=opset, name="broadcast")
    case(op, [S(rng(2, 3)), rng(4, 1, 3, seed=2)], opset=opset, name="broadcast")
    case(op, [S(rng(1)), S(rng(1, 1, 1, seed=2))], opset=opset, name="broadcast")
    if op not in ("Mean", "Sum"):
        ints = np.array([[7, 2], [-7, 2], [7, -2], [-7, -2], [0, 5], [6, 3], [1000001, 1000], [-1, 3], [5, 5]])
        for t in (I64, I32):
            case(op, [S(ints[:, 0], t), S(ints[:, 1], t)], opset=opset, name="integers")
            case(op, [S(ints[:, 0], t), ints[:, 1].astype(t)], opset=opset, name="integers")
            case(op, [S(ints[:, 0], t), np.array(2, t)], opset=opset, name="integers_two")
            case(op, [S(ints[:, 0], t), np.array(-3, t)], opset=opset, name="integers_three")
for op in "Max Min Mean Sum".split():
    case(op, [S(rng(2, 3)), S(rng(2, 3, seed=1)), S(rng(3, seed=2)), S(rng(1, seed=3))], opset=13, name="four")
    case(op, [S(rng(2, 3))], opset=13, name="one", forms=ALL)
    case(op, [S(f(1, NAN, 2)), S(f(NAN, 1, 3)), S(f(2, 2, NAN))], opset=13, name="nan")
for op in "And Or Xor".split():
    case(op, [S([[1, 0, 1, 0]], bool), S([[1, 1, 0, 0]], bool)], opset=7)
    case(op, [S([[1, 0, 1, 0]], bool), np.array(True)], opset=7)
case("Equal", [S([[1, 0, 1, 0]], bool), S([[1, 1, 0, 0]], bool)], opset=13, name="truth")
case("Equal", [S([[1, 0, 1, 0]], bool), np.array([[1, 1, 0, 0]], bool)], opset=7, name="truth")
for t in (F, I64, bool):
    case("Where", [S([1, 0, 1, 0], bool), S([[1, 2, 3, 0]], t), S([[5, 0, 7, 8], [9, 0, 0, 0]], t)], opset=16, name=t.__name__)
case("Where", [S([1, 0, 1, 0], bool), S(f(NAN, NAN, INF, INF)), S(f(1, 2, 3, 4))], opset=9, name="nan")
case("Where", [np.array([1, 0, 1, 0], bool), S(f(NAN, NAN, INF, INF)), np.array(-INF, F)], opset=9, name="nan")
case("Where", [S(np.array([[1], [0]]), bool), np.array(0, F), S(rng(2, 3))], opset=9, name="number")

powers = [0.0, 1.0, 2.0, 3.0, 0.5, -0.5, -1.0, -2.0, -3.0, 1.5, 2.5, 0.25, 10.0, 65.0, -INF, INF, NAN, 1 / 3]
bases = f(0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, 10, -10, INF, -INF, NAN)
for p in powers:
    case("Pow", [S(bases), np.array(p, F)], opset=15, name=f"{p:.3g}")
    case("Pow", [S(bases.reshape(2, -1)), np.array([p], F)], opset=7, name=f"{p:.3g}", forms="direct packed")
grid = np.array([[b, p] for b in bases for p in powers], F)
case("Pow", [S(grid[:, 0].copy()), grid[:, 1].copy()], opset=15, name="grid")
case("Pow", [S(grid[:, 0].copy()), S(grid[:, 1].copy())], opset=15, name="grid_given")
case("Pow", [np.array(2, F), S(f(0, 1, -1, 3.5, INF, -INF))], opset=15, name="two_to")
case("Pow", [S([1, 2, 3, -4], I64), np.array([0, 1, 2, 3], I64)], opset=15, name="integers")
case("Pow", [S([1, 2, 3, 4, -3], I64), np.array(2, F)], opset=15, name="integers_to_float")
case("Pow", [S([1, 2, 3, 9], I64), np.array(0.5, F)], opset=15, name="integers_to_float")
case("Pow", [S(f(1, 2, 3, -1.5)), np.array([0, -1, 2, 3], I64)], opset=13, name="float_to_integers")
for fmod in (0, 1):
    v = np.array([[a, b] for a in (-7, -6, 0, 5, 8) for b in (3, -3, 2, 5)])
    case("Mod", [S(v[:, 0], I64), v[:, 1].astype(I64)], dict(fmod=fmod), opset=13)
    case("Mod", [S(v[:, 0], I64), S(v[:, 1], I64)], dict(fmod=fmod), opset=10)
case("Mod", [S(f(-7.5, 7.5, 5, -5.25)), f(2, -2, 3, 2)], dict(fmod=1), opset=13, name="real")
case("BitShift", [np.array([1, 2, 8], np.uint8), np.array([1, 2, 3], np.uint8)], dict(direction="LEFT"), opset=11, forms="folded")

# --- casts
half = np.concatenate([f(65504, 65519, 65520, 65536, -65520, 1e-8, 5.96e-8, 2.98e-8, 2.99e-8, 6.1e-5, 6.097e-5, 1.0009765625,
                         1.00048828125, 1.0014648, 2049, 2051, 2050.9, 0.1, -0.1, 1e30, 3.14159, 1 / 3), EDGES[:19]])
bf = np.concatenate([f(3.14159, 0.1, 1 / 3, 257, 259, 258.9, 65504, 3.3e38, 3.39e38, 3.4e38, -3.4e38, 1.00390625, 1.01171875), EDGES[:19]])
case("Cast", [S(half)], dict(to=TensorProto.FLOAT16), opset=13, name="half")
case("Cast", [S(half.reshape(1, -1))], dict(to=TensorProto.FLOAT16), opset=9, name="half", forms="direct packed")
case("Cast", [S(bf)], dict(to=TensorProto.BFLOAT16), opset=13, name="bfloat16")
case("Cast", [S(EDGES)], dict(to=TensorProto.BOOL), opset=13, name="truth")
case("Cast", [S(EDGES)], dict(to=TensorProto.FLOAT), opset=13, name="float")
case("Cast", [S(EDGES)], dict(to=TensorProto.DOUBLE), opset=13, name="double")
whole = f(0, 0.5, -0.5, 0.99, -0.99, 1.5, -1.5, 2.5, 100.9, -100.9, 127, 1e6)
for target in (TensorProto.INT64, TensorProto.INT32):
    case("Cast", [S(whole)], dict(to=target), opset=13, name=f"to{target}")
for target in (TensorProto.INT8, TensorProto.INT16):
    case("Cast", [S(whole[:-1])], dict(to=target), opset=13, name=f"to{target}")
for target in (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64):
    case("Cast", [S(np.abs(whole[:-1]))], dict(to=target), opset=13, name=f"to{target}")
wide = [0, 1, -1, 127, 128, 255, 256, -128, -129, 300, 32767, 32768, 65535, 65536, -32769, 1000000]
for target in (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.FLOAT16):
    case("Cast", [S(wide, I64)], dict(to=target), opset=13, name=f"integers_to{target}")
case("Cast", [S([1, 0, 1], bool)], dict(to=TensorProto.FLOAT), opset=13, name="of_truth")
case("Cast", [S([1, 0, 1], bool)], dict(to=TensorProto.INT32), opset=13, name="of_truth")
case("CastLike", [S(half), np.array([1], H)], opset=15, name="half")
case("CastLike", [S(whole), np.array([1], I64)], opset=15, name="integers")

# --- arrangement
x234 = rng(2, 3, 4)
for axis in (0, 1, 2, -1, -3):
    case("Concat", [S(rng(2, 3, 4)), S(rng(2, 3, 4, seed=1)), rng(2, 3, 4, seed=2)], dict(axis=axis), opset=13)
    case("Gather", [S(x234), np.array([0, -1, 1], I64)], dict(axis=axis), opset=13)
    case("Gather", [S(x234), S([[0, -1], [1, -2]], I64)], dict(axis=axis), opset=13, name="given")
    case("Gather", [x234, S([[0, -1], [1, -2]], I64)], dict(axis=axis), opset=11, name="given_of_constant")
    case("Gather", [S(x234), np.array(-1, I64)], dict(axis=axis), opset=7, name="one")
    case("Split", [S(rng(4, 6, 2))], dict(axis=axis), opset=13, outputs=2, name="even")
    case("Split", [S(rng(4, 6, 2))], dict(axis=axis), opset=11, outputs=2, name="even")
    case("Hardmax", [S(rng(2, 3, 4))], dict(axis=axis), opset=13, forms=ALL)
    case("CumSum", [S(x234), np.array(axis, I64)], opset=14)
    case("GatherElements", [S(x234), np.zeros((2, 3, 4), I64) - 1], dict(axis=axis), opset=13)
for axis in (0, 1, 2, 3, -1, -2):
    case("Flatten", [S(x234)], dict(axis=axis), opset=13)
case("Flatten", [S(x234)], opset=9, forms=ALL)
case("Flatten", [S(np.array(3, F))], dict(axis=0), opset=13, name="number")
case("Split", [S(rng(2, 7)), np.array([2, 1, 4], I64)], dict(axis=1), opset=13, outputs=3)
case("Split", [S(rng(2, 7))], dict(axis=1, split=[2, 1, 4]), opset=11, outputs=3)
case("Split", [S(rng(2, 7))], dict(axis=-1, num_outputs=3), opset=18, outputs=3, name="uneven")
case("Split", [S(rng(2, 7)), np.array([0, 3, 4], I64)], dict(axis=1), opset=13, outputs=3, name="empty")
case("Concat", [S(rng(2, 3)), rng(2, 0)], dict(axis=1), opset=13, name="empty")
for start, end, axes, steps in (([0], [2], [1], None), ([-2], [100], [-1], None), ([3], [-100], [2], [-1]), ([-1], [-5], [2], [-2]),
                                ([0, 1], [2, 3], None, None), ([100], [-100], [1], [-1]), ([1], [1], [1], None), ([0], [3], [2], [2]),
                                ([2 ** 63 - 1], [-2 ** 63], [0], [-1]), ([-2 ** 63], [2 ** 63 - 1], [0], [1]), ([1], [2 ** 31 - 1], [2], [2]), ([-1], [0], [1], None)):
    operands = [S(x234), np.array(start, I64), np.array(end, I64), None if axes is None else np.array(axes, I64), None if steps is None else np.array(steps, I64)]
    case("Slice", operands, opset=13, name="slice")
    if steps is None:
        case("Slice", [S(x234)], dict(starts=start, ends=end, **({} if axes is None else dict(axes=axes))), opset=9, name="slice")
for target, allow in (([6, 4], 0), ([-1], 0), ([0, -1], 0), ([2, 0, 2, 2], 0), ([4, 3, 2], 0), ([1, 24, 1], 0), ([0, 0, 0], 0), ([24, 1], 0)):
    case("Reshape", [S(x234), np.array(target, I64)], opset=13)
    case("Reshape", [S(x234), np.array(target, I64)], dict(allowzero=allow), opset=14)
case("Reshape", [S(np.zeros((0, 3), F)), np.array([3, 0], I64)], dict(allowzero=1), opset=14, name="empty", forms="folded")
case("Reshape", [S(np.zeros((0, 3), F)), np.array([0, 3, 2], I64)], opset=14, name="empty", forms="folded")
case("Squeeze", [S(rng(1, 3, 1, 2))], opset=13)
case("Squeeze", [S(rng(1, 3, 1, 2)), np.array([0], I64)], opset=13)
case("Squeeze", [S(rng(1, 3, 1, 2)), np.array([-2, 0], I64)], opset=13)
case("Squeeze", [S(rng(1, 3, 1, 2))], dict(axes=[2]), opset=11)
case("Unsqueeze", [S(rng(3, 2)), np.array([0, -1], I64)], opset=13)
case("Unsqueeze", [S(rng(3, 2)), np.array([1, 3, 0], I64)], opset=13)
case("Unsqueeze", [S(rng(3, 2))], dict(axes=[0, 3]), opset=11)
case("Unsqueeze", [S(np.array(2, F)), np.array([0], I64)], opset=13, name="number")
for perm in (None, [0, 2, 1], [2, 0, 1], [1, 0, 2]):
    case("Transpose", [S(x234)], {} if perm is None else dict(perm=perm), opset=13)
case("Identity", [S(x234)], opset=13, forms=ALL)
case("Expand", [S(rng(3, 1)), np.array([2, 1, 6], I64)], opset=13)
case("Expand", [S(rng(3, 1)), np.array([1], I64)], opset=8)
case("Expand", [S(np.array(2, F)), np.array([2, 3], I64)], opset=13)
case("Tile", [S(x234), np.array([1, 2, 3], I64)], opset=13)
case("Tile", [S(x234), np.array([2, 1, 1], I64)], opset=6)
for k in (None, 0, 1, -1, 10, -10):
    for upper in (None, 0, 1):
        x = f(NAN, 1, INF, 2, 3, 4, -INF, 5, 6, 7, 8, 9).reshape(3, 4)
        case("Trilu", [S(x), None if k is None else np.array(k, I64)], {} if upper is None else dict(upper=upper), opset=14)
case("Trilu", [S(rng(2, 3, 3)), np.array([1], I64)], opset=14, forms=ALL)
for mode in ("constant", "reflect", "edge"):
    for pads in ([0, 1, 2, 0, 2, 1], [0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 3]):
        case("Pad", [S(x234), np.array(pads, I64)] + ([np.array(1.5, F)] if mode == "constant" else []), dict(mode=mode), opset=13, name=mode)
        case("Pad", [S(x234)], dict(mode=mode, pads=pads, **(dict(value=1.5) if mode == "constant" else {})), opset=9, name=mode)
case("Pad", [S(x234), np.array([0, -1, 1, 0, 0, -2], I64)], opset=13, name="negative")
case("Pad", [S(x234), np.array([0, 0, -1, 0, -1, 3], I64), None], dict(mode="constant"), opset=13, name="negative")
case("Pad", [S(x234), np.array([0, 0, -1, 0, 1, -1], I64)], dict(mode="edge"), opset=13, name="negative_edge")
case("Pad", [S(x234), np.array([0, 0, -1, 0, 1, -1], I64)], dict(mode="reflect"), opset=13, name="negative_reflect")
case("Pad", [S(x234), np.array([1, 2], I64), np.array(-2, F), np.array([-1], I64)], opset=18, name="axes")
case("Pad", [S(x234), np.array([1, 0, 2, 1], I64), None, np.array([2, 1], I64)], opset=18, name="axes")
case("Pad", [S(x234), np.array([1, 2, 2, 1], I64), None, np.array([1, 2], I64)], dict(mode="wrap"), opset=19, name="wrap")
case("Pad", [S(x234), np.array([1, 2], I64), np.array(INF, F), np.array([-1], I64)], opset=18, name="infinity")
case("Pad", [S([[1, 2, 3]], I64), np.array([0, 1, 0, 1], I64), np.array(7, I64)], opset=13, name="integers")
for b, mode in ((2, None), (2, "DCR"), (2, "CRD")):
    case("DepthToSpace", [S(rng(2, 8, 2, 3))], dict(blocksize=b, **({} if mode is None else dict(mode=mode))), opset=13, forms=ALL)
case("SpaceToDepth", [S(rng(2, 2, 4, 6))], dict(blocksize=2), opset=13, forms=ALL)
for k in (0, 1, -2):
    case("EyeLike", [S(rng(3, 4))], dict(k=k), opset=9, forms="folded weights")
    case("EyeLike", [S(rng(3, 4))], dict(k=k, dtype=TensorProto.INT64), opset=9, forms="folded weights")
case("ReverseSequence", [S(rng(4, 3, 2)), np.array([4, 1, 2], I64)], opset=10)
case("ReverseSequence", [S(rng(4, 3, 2)), np.array([3, 1, 2, 3], I64)], dict(batch_axis=0, time_axis=1), opset=10, forms=ALL)
case("Compress", [S(rng(3, 4)), np.array([0, 1, 1], bool)], dict(axis=0), opset=11)
case("Compress", [S(rng(3, 4)), np.array([0, 1, 1, 0, 1], bool)], opset=11)
case("Compress", [S(rng(3, 4)), np.array([0, 1], bool)], dict(axis=-1), opset=11)
case("GatherElements", [S(rng(3, 4)), np.array([[0, -1, 2, 1], [2, 2, 0, -3]], I64)], opset=13)
case("GatherElements", [S(rng(3, 4)), np.array([[0, -1], [3, 2], [-4, 1]], I64)], dict(axis=1), opset=11)
case("GatherND", [S(x234), np.array([[0, 1], [-1, -1]], I64)], opset=13)
case("GatherND", [S(x234), np.array([[[0]], [[-1]]], I64)], opset=13)
case("GatherND", [S(x234), np.array([[1, 1], [-1, -3]], I64)], dict(batch_dims=1), opset=13)
for op in ("Scatter", "ScatterElements"):
    opset = 9 if op == "Scatter" else 16
    case(op, [S(rng(3, 4)), np.array([[0, -1, 2, 1], [2, 2, 0, 0]], I64), S(rng(2, 4, seed=3))], opset=opset)
    case(op, [S(rng(3, 4)), np.array([[0, -1], [3, 2], [-4, 1]], I64), rng(3, 2, seed=3)], dict(axis=1), opset=opset)
for reduction in ("none", "add", "mul", "max", "min"):
    indices = np.array([[0, -1], [3, 2], [-4, 1]] if reduction == "none" else [[0, 0, 0], [3, -1, 2], [1, 1, 1]], I64)
    updates = rng(*indices.shape, seed=4)
    case("ScatterElements", [S(rng(3, 4)), indices, S(updates)], dict(axis=1, reduction=reduction), opset=18, name=reduction)
    case("ScatterND", [S(rng(3, 4)), np.array([[0], [2], [0]][: 2 if reduction == "none" else 3], I64), S(rng(2 if reduction == "none" else 3, 4, seed=5))],
         dict(reduction=reduction), opset=18, name=reduction)
    case("ScatterND", [S(rng(3, 4)), np.array([[0, 1], [-1, -1]], I64), rng(2, seed=5)], dict(reduction=reduction), opset=18, name=reduction)
case("ScatterND", [S(rng(3, 4)), np.array([[0, 1], [2, 3]], I64), S(rng(2, seed=5))], opset=11)
for axis in (None, 0, 1, -1, -2):
    a = {} if axis is None else dict(axis=axis)
    case("OneHot", [S([[0, -1, 3], [5, -6, 2]], I64), np.array(4, I64), f(-1, 2)], a, opset=11)
case("OneHot", [S([0, 1, 3, 2], I64), np.array([4], I64), np.array([0, INF], F)], opset=9, name="infinity")
case("OneHot", [S([0, -1, 3, 9], I64), np.array(4, F), np.array([0, 1], I64)], opset=11, name="integers")
case("OneHot", [S(f(0, 1.7, 2.2, -1)), np.array(4, F), np.array([0, 1], F)], opset=11, name="reals")

# --- reductions
red = np.stack([rng(3, 4), f(INF, 1, 2, 3, NAN, 1, 1, 1, -INF, -INF, -INF, -INF).reshape(3, 4)])
for op in "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare".split():
    old = 11 if op == "ReduceSum" else 13
    for x, name in ((x234, ""), (red, "edges")):
        if op == "ReduceLogSum":
            x = np.abs(x)
        for keep in (0, 1):
            for axes in (None, [0], [1], [-1], [0, 2], [1, -3], [0, 1, 2]):
                a = dict(keepdims=keep)
                if keep == 1 or axes in ([1], [-1], None):
                    case(op, [S(x)], a if axes is None else dict(a, axes=axes), opset=old, name=name)
                    case(op, [S(x), None if axes is None else np.array(axes, I64)], a, opset=18, name=name)
    case(op, [S(np.abs(x234))], opset=old, name="default", forms="packed folded weights")
    case(op, [S(np.abs(x234)), None], dict(noop_with_empty_axes=1), opset=18, name="noop")
    case(op, [S(np.abs(x234)), np.array([], I64)], dict(noop_with_empty_axes=1), opset=18, name="noop")
    case(op, [S(np.abs(x234)), np.array([], I64)], opset=18, name="empty_axes")
    case(op, [S(np.zeros((2, 0, 3), F)), np.array([1], I64)], opset=18, name="empty_set", forms="" if op == "ReduceMean" else "folded weights")
    case(op, [S(rng(1, 3)), np.array([0], I64)], opset=18, name="single")
    case(op, [S(np.array(-2 if "Log" not in op else 2, F))], dict(keepdims=0), opset=18, name="number")
    if op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceMean"):
        case(op, [S([[3, -2, 5], [1, 1, 1]], I64)], opset=old, name="integers")
        case(op, [S([[3, -2, 5], [1, 1, 1]], I32), np.array([1], I64)], dict(keepdims=0), opset=18, name="integers")
case("ReduceProd", [np.array([], I64)], dict(keepdims=0), opset=13, name="no_extents", forms="folded")
case("ReduceSum", [np.array([], I64)], dict(keepdims=0), opset=13, name="no_extents", forms="folded")
ties = f(1, 3, 3, 2, -1, -1, 5, 5, 0, 0, 0, 0).reshape(3, 4)
for op in ("ArgMax", "ArgMin"):
    for axis in (None, 0, 1, -1):
        for keep in (0, 1):
            for last in (None, 0, 1):
                a = dict(keepdims=keep)
                if axis is not None:
                    a["axis"] = axis
                if last is not None:
                    a["select_last_index"] = last
                case(op, [S(ties)], a, opset=11 if last is None else 13)
    case(op, [S(f(-INF, -INF, INF, INF, 1, -INF).reshape(2, 3))], dict(axis=1), opset=13, name="infinite", forms=ALL)
    case(op, [S([[3, -2, 5], [5, 1, 1]], I64)], dict(axis=1), opset=13, name="integers")
soft = f(1, 2, 3, -1, 0, 0, 100, -100, 1e4, 1e4, -1e4, 0).reshape(2, 3, 2)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    for axis in (None, 0, 1, 2, -1, -2):
        a = {} if axis is None else dict(axis=axis)
        for opset in (7, 11, 13):
            if opset >= 11 or axis is None or axis >= 0:
                case(op, [S(soft)], a, opset=opset, forms=ALL)
    case(op, [S(f(-INF, 1, 2, 0, -INF, -INF).reshape(2, 3))], dict(axis=1), opset=13, name="infinite", forms=ALL)
    case(op, [S(f(NAN, 1, 2, 0, 1, 2).reshape(2, 3))], dict(axis=1), opset=13, name="nan", forms=ALL if op != "Hardmax" else "")
case("LogSoftmax", [S(f(-INF, -INF, INF, 0).reshape(2, 2))], dict(axis=1), opset=13, name="all_infinite", forms=ALL)
case("Softmax", [S(f(-INF, -INF, INF, 0).reshape(2, 2))], dict(axis=1), opset=13, name="all_infinite", forms=ALL)
for exclusive in (0, 1):
    for reverse in (0, 1):
        case("CumSum", [S(x234), np.array(1, I64)], dict(exclusive=exclusive, reverse=reverse), opset=11)
        case("CumSum", [S(f(1, INF, 2, -INF, 3)), np.array([0], I32)], dict(exclusive=exclusive, reverse=reverse), opset=14, name="infinite")
case("CumSum", [S([1, 2, 3], I64), np.array(0, I64)], opset=14, name="integers")

# --- products and windows
case("Gemm", [S(rng(2, 3)), rng(3, 4, seed=1), rng(4, seed=2)], opset=13, forms=ALL)
for ta in (0, 1):
    for tb in (0, 1):
        for alpha, beta, c in ((1.0, 1.0, (2, 4)), (0.5, 2.0, (1, 4)), (2.0, -1.0, (2, 1)), (1.0, 0.0, ()), (0.0, 1.0, None)):
            case("Gemm", [S(rng(*((3, 2) if ta else (2, 3)))), rng(*((4, 3) if tb else (3, 4)), seed=1)] + ([] if c is None else [rng(*c, seed=2)]),
                 dict(transA=ta, transB=tb, alpha=alpha, beta=beta), opset=13)
case("Gemm", [S(rng(2, 3)), S(rng(3, 4, seed=1)), S(rng(4, seed=2))], opset=11, name="given")
for a, b in (((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)),
             ((2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((2, 1, 2, 3), (3, 1)), ((1, 1), (1, 1))):
    case("MatMul", [S(rng(*a)), S(rng(*b, seed=1))], opset=13)
    case("MatMul", [S(rng(*a)), rng(*b, seed=1)], opset=9)
    case("MatMul", [rng(*a), S(rng(*b, seed=1))], opset=9)
for auto in (None, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
    for strides in ([1, 1], [2, 3], [3, 2]):
        for dil in ([1, 1], [2, 1]):
            a = dict(strides=strides, dilations=dil, **({} if auto is None else dict(auto_pad=auto)))
            case("Conv", [S(rng(2, 2, 7, 6)), rng(3, 2, 3, 2, seed=1), rng(3, seed=2)], a, opset=11, forms="direct packed weights", name=str(auto))
            if strides == [2, 3] and str(auto).startswith("SAME"):
                continue  # a window smaller than its step: runtimes disagree with the text and with each other
            case("ConvTranspose", [S(rng(2, 2, 4, 3)), rng(2, 3, 3, 2, seed=1), rng(3, seed=2)], a, opset=11, forms="direct packed weights", name=str(auto))
for pads in ([0, 0, 0, 0], [1, 2, 3, 0], [0, 1, 2, 2]):
    for group in (1, 2, 4):
        case("Conv", [S(rng(2, 4, 6, 5)), rng(4, 4 // group, 3, 2, seed=1)], dict(pads=pads, group=group, kernel_shape=[3, 2]), opset=11, forms="direct packed weights folded")
        if pads != [0, 1, 2, 2]:
            case("ConvTranspose", [S(rng(2, 4, 6, 5)), rng(4, 2, 3, 2, seed=1)], dict(pads=pads, group=group, strides=[2, 2], output_padding=[1, 0]), opset=11, forms="direct packed")
        case("Conv", [S(rng(2, 4, 6)), rng(4, 4 // group, 3, seed=1)], dict(pads=pads[1:3], group=group), opset=11, forms="direct packed")
        case("ConvTranspose", [S(rng(2, 4, 6)), rng(4, 2, 3, seed=1)], dict(group=group, strides=[2], pads=[1, 0]), opset=11, forms="direct packed")
for auto in (None, "SAME_UPPER", "SAME_LOWER"):
    for shape in ([9, 8], [8, 7], [10, 9]):
        for opset in (8, 11):
            case("ConvTranspose", [S(rng(1, 2, 4, 3)), rng(2, 3, 3, 3, seed=1)], dict(strides=[2, 2], output_shape=shape, **({} if auto is None else dict(auto_pad=auto))),
                 opset=opset, forms="direct packed", name=f"shape{auto}")
case("Conv", [S(rng(2, 2, 1, 1)), rng(3, 2, 1, 1, seed=1)], opset=11, forms="direct packed", name="single")
case("Conv", [S(rng(2, 2, 5, 5)), S(rng(3, 2, 3, 3, seed=1))], opset=11, name="given")
case("Conv", [S(rng(1, 1, 3, 4, 5)), rng(1, 1, 2, 2, 2, seed=1)], opset=11, name="three_axes", forms="direct")
for op in ("AveragePool", "MaxPool"):
    for ceil in (0, 1):
        for strides in ([1, 1], [2, 2], [3, 2]):
            for pads in ([0, 0, 0, 0], [1, 0, 1, 1], [1, 1, 0, 0]):
                a = dict(kernel_shape=[3, 2], strides=strides, pads=pads, ceil_mode=ceil)
                if op == "MaxPool":
                    case(op, [S(rng(2, 2, 7, 6))], a, opset=12, forms="direct packed folded")
                    case(op, [S(rng(2, 2, 7, 6))], dict(a, dilations=[2, 3]), opset=12, forms="direct packed", name="dilated")
                else:
                    for count in (0, 1):
                        case(op, [S(rng(2, 2, 7, 6))], dict(a, count_include_pad=count), opset=11, forms="direct packed folded")
                        case(op, [S(rng(2, 2, 7, 6))], dict(a, count_include_pad=count), opset=19, forms="direct packed")
                        case(op, [S(rng(2, 2, 7, 6))], dict(a, count_include_pad=count, dilations=[2, 1]), opset=19, forms="direct packed", name="dilated")
    for auto in ("VALID", "SAME_UPPER", "SAME_LOWER"):
        for strides in ([1, 1], [2, 2]):
            for extra in ({}, dict(count_include_pad=1)) if op == "AveragePool" else ({},):
                case(op, [S(rng(2, 2, 7, 6))], dict(kernel_shape=[3, 2], strides=strides, auto_pad=auto, **extra), opset=11, forms="direct packed", name=auto)
    case(op, [S(rng(2, 3, 6))], dict(kernel_shape=[3], strides=[2], pads=[1, 1]), opset=11, forms="direct packed", name="one_axis")
    case(op, [S(-np.abs(rng(1, 1, 4, 4)) - 1)], dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1]), opset=11, forms="direct packed", name="negative")
    case(op, [S(f(1, INF, -INF, NAN, 2, 3, -INF, -INF).reshape(1, 1, 2, 4))], dict(kernel_shape=[1, 2]), opset=11, forms="direct packed", name="infinite")
case("MaxPool", [S(rng(1, 1, 4, 4))], dict(kernel_shape=[2, 2]), opset=12, outputs=2, forms="packed", name="places")
for op in ("GlobalAveragePool", "GlobalMaxPool"):
    case(op, [S(rng(2, 3, 4, 5))], opset=7, forms=ALL)
    case(op, [S(rng(2, 3, 4))], opset=7, forms=ALL)
    case(op, [S(rng(2, 3, 1, 1))], opset=7, forms=ALL)
    case(op, [S(rng(2, 3, 2, 2, 2))], opset=7, forms=ALL)

for mode in ("nearest", "linear", "cubic"):
    for transformation in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric", "tf_half_pixel_for_nn"):
        opset = 19 if transformation == "half_pixel_symmetric" else 11 if transformation == "tf_half_pixel_for_nn" else 13
        if transformation == "tf_half_pixel_for_nn" and mode != "nearest":
            continue
        for sizes, scales in ((None, [1, 1, 1.5, 1.5]), (None, [1, 1, 0.6, 0.8]), (None, [1, 1, 2, 3]), ([2, 1, 7, 3], None), ([2, 1, 1, 1], None), ([2, 1, 5, 10], None)):
            for nearest in (("floor", "ceil", "round_prefer_floor", "round_prefer_ceil") if mode == "nearest" else (None,)):
                a = dict(mode=mode, coordinate_transformation_mode=transformation)
                if nearest:
                    a["nearest_mode"] = nearest
                roi = np.array([], F) if opset < 13 else None
                tail = [np.array([], F) if scales is None and opset < 13 else None if scales is None else np.array(scales, F)]
                if sizes is not None:
                    tail.append(np.array(sizes, I64))
                case("Resize", [S(rng(2, 1, 5, 5)), roi, *tail], a, opset=opset, forms="packed" + (" direct" if sizes is None else ""), name=f"{mode}_{transformation}")
for coefficient in (-0.5, -0.75):
    for exclude in (0, 1):
        case("Resize", [S(rng(1, 1, 4, 5)), None, np.array([1, 1, 1.7, 0.7], F)], dict(mode="cubic", cubic_coeff_a=coefficient, exclude_outside=exclude), opset=13, forms="packed", name="cubic")
for policy in ("stretch", "not_larger", "not_smaller"):
    for sizes in ([7, 8], [3, 9], [10, 4]):
        case("Resize", [S(rng(1, 2, 5, 4)), None, None, np.array(sizes, I64)], dict(mode="nearest", axes=[2, 3], keep_aspect_ratio_policy=policy), opset=18, forms="packed", name=policy)
        case("Resize", [S(rng(1, 2, 5, 4)), None, None, np.array(sizes, I64)], dict(mode="linear", axes=[3, 2], keep_aspect_ratio_policy=policy), opset=18, forms="packed", name=policy)
for mode in ("linear", "cubic"):
    for sizes in ([3, 4], [2, 9], [6, 6]):
        for exclude in (0, 1):
            case("Resize", [S(rng(1, 1, 6, 8)), None, None, np.array(sizes, I64)], dict(mode=mode, antialias=1, axes=[2, 3], exclude_outside=exclude), opset=18, forms="packed", name=f"antialias_{mode}")
    case("Resize", [S(rng(1, 1, 6, 8)), None, np.array([0.6, 0.55], F)], dict(mode=mode, antialias=1, axes=[2, 3]), opset=18, forms="packed", name=f"antialias_{mode}")
for mode in ("nearest", "linear"):
    for scales in ([1, 1, 2, 3], [1, 1, 1.5, 1], [1, 1, 0.5, 0.7]):
        case("Resize", [S(rng(2, 1, 4, 5)), np.array(scales, F)], dict(mode=mode), opset=10, forms="packed direct", name=mode)
        case("Upsample", [S(rng(2, 1, 4, 5)), np.array(scales, F)], dict(mode=mode), opset=9, forms="packed direct", name=mode)
        if min(scales) >= 1:
            case("Upsample", [S(rng(2, 1, 4, 5))], dict(mode=mode, scales=[float(s) for s in scales]), opset=7, forms="packed direct", name=mode)
for sizes in ([1, 1, 3, 3], [1, 1, 7, 8]):
    for roi in ([0, 0, 0.2, 0.1, 1, 1, 0.8, 0.9], [0, 0, -0.2, 0.1, 1, 1, 0.8, 1.4]):
        for mode in ("nearest", "linear"):
            case("Resize", [S(rng(1, 1, 5, 6)), np.array(roi, F), None, np.array(sizes, I64)],
                 dict(mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0), opset=13, forms="packed", name=f"crop_{mode}")

# --- normalization
bn = [f(1, 2, -0.5), f(0.5, -1, 0), f(0.1, -0.2, 3), f(1, 0.25, 4)]
for x in (rng(2, 3, 4, 5), rng(2, 3, 4), rng(2, 3)):
    for eps in (None, 0.1):
        a = {} if eps is None else dict(epsilon=eps)
        for opset in (7, 9, 14, 15):
            case("BatchNormalization", [S(x), *bn], a, opset=opset, forms="direct packed folded weights" if opset == 15 else "direct packed")
case("BatchNormalization", [S(rng(2, 3, 4)), *bn], dict(training_mode=1, momentum=0.75), opset=15, outputs=3, forms="packed")
for x in (rng(2, 3, 4, 5), rng(2, 3, 4)):
    for eps in (None, 0.5):
        case("InstanceNormalization", [S(x), bn[0], bn[1]], {} if eps is None else dict(epsilon=eps), opset=6, forms="direct folded")
        case("InstanceNormalization", [S(x), bn[0], bn[1]], {} if eps is None else dict(epsilon=eps), opset=7, forms=ALL)
for axis in (None, 1, 2, -1, -2, 0):
    a = {} if axis is None else dict(axis=axis)
    feature = rng(2, 3, 4).shape[-1 if axis is None else axis:] if axis != -2 else (3, 4)
    case("LayerNormalization", [S(rng(2, 3, 4)), rng(*feature, seed=1), rng(*feature, seed=2)], a, opset=17, outputs=3)
    case("LayerNormalization", [S(rng(2, 3, 4)), rng(*feature, seed=1)], dict(a, epsilon=0.5, stash_type=1), opset=17)
case("LayerNormalization", [S(rng(2, 3, 4)), rng(4, seed=1), None], opset=17, forms=ALL)
case("LayerNormalization", [S(rng(2, 3, 4)), rng(1, seed=1), rng(4, seed=1)], opset=17, forms="packed", name="one_scale")
for groups in (1, 2, 4):
    case("GroupNormalization", [S(rng(2, 4, 3, 2)), rng(groups, seed=1), rng(groups, seed=2)], dict(num_groups=groups), opset=18, forms=ALL)
    case("GroupNormalization", [S(rng(2, 4, 3, 2)), rng(4, seed=1), rng(4, seed=2)], dict(num_groups=groups, epsilon=0.1), opset=21, forms=ALL)
for axes in (None, [2, 3], [0, 2, 3], [1, 2, 3], [-1]):
    case("MeanVarianceNormalization", [S(rng(2, 3, 4, 5))], {} if axes is None else dict(axes=axes), opset=13, forms="packed folded")
case("MeanVarianceNormalization", [S(np.ones((1, 2, 3, 3), F))], dict(axes=[2, 3]), opset=9, forms="packed folded", name="constant")
for size in (1, 3, 5):
    case("LRN", [S(rng(2, 4, 3, 2))], dict(size=size), opset=13, forms="direct packed")
    case("LRN", [S(rng(2, 4, 3, 2))], dict(size=size, alpha=0.5, beta=0.6, bias=2.0), opset=7, forms="direct packed")
for p in (None, 1, 2):
    for axis in (None, 0, 1, -1):
        a = {} if p is None else dict(p=p)
        x = rng(3, 4)
        x[1] = 0
        x[:, 2] = 0
        case("LpNormalization", [S(x)], a if axis is None else dict(a, axis=axis), opset=7, forms=ALL)
for op in ("Dropout",):
    case(op, [S(rng(2, 3))], dict(ratio=0.7), opset=7, forms=ALL)
    case(op, [S(rng(2, 3))], dict(ratio=0.7), opset=10, forms="packed folded")
    case(op, [S(rng(2, 3))], opset=13, forms=ALL)
    case(op, [S(rng(2, 3)), np.array(0.9, F)], opset=13, outputs=2, forms="packed folded")
    case(op, [S(rng(2, 3)), np.array(0.9, F), np.array(False)], dict(seed=3), opset=13, forms="packed folded")
    case(op, [S(rng(2, 3)), np.array(0.0, F), np.array(True)], opset=13, forms="packed folded")
    case(op, [S(rng(2, 3)), None, np.array(False)], opset=13, forms="packed folded")

# --- recurrence
def recurrent(op, gates, activations, name="", direction="forward", bias=True, lengths=None, h0=False, c0=False, peep=False, layout=0, opset=14, **attributes):
    d = 2 if direction == "bidirectional" else 1
    t, n, i, u = 4, 3, 2, 3
    x = rng(t, n, i)
    if layout:
        x = np.ascontiguousarray(x.transpose(1, 0, 2))
    state = (lambda seed: rng(*((n, d, u) if layout else (d, n, u)), seed=seed) / F(3))
    w, r = rng(d, gates * u, i, seed=1) / F(3), rng(d, gates * u, u, seed=2) / F(3)
    inputs = [S(x), w, r, rng(d, 2 * gates * u, seed=3) / F(3) if bias else None, None if lengths is None else np.array(lengths, I32),
              state(4) if h0 else None]
    if op == "LSTM":
        inputs += [state(5) if c0 else None, rng(d, 3 * u, seed=6) / F(3) if peep else None]
    a = dict(hidden_size=u, direction=direction, **attributes)
    if activations:
        a["activations"] = activations * d
    if layout:
        a["layout"] = 1
    case(op, inputs, a, opset=opset, outputs=3 if op == "LSTM" else 2, forms="packed" if not layout else "packed folded", name=name)

for op, gates, usual in (("RNN", 1, ["Tanh"]), ("GRU", 3, ["Sigmoid", "Tanh"]), ("LSTM", 4, ["Sigmoid", "Tanh", "Tanh"])):
    for direction in ("forward", "reverse", "bidirectional"):
        for lengths in (None, [4, 2, 1], [1, 3, 4]):
            for h0 in (False, True):
                recurrent(op, gates, None, direction, direction, lengths=lengths, h0=h0, c0=h0)
                if op == "GRU":
                    recurrent(op, gates, None, direction + "_after", direction, lengths=lengths, h0=h0, linear_before_reset=1)
        recurrent(op, gates, None, direction + "_no_bias", direction, bias=False)
        recurrent(op, gates, None, direction + "_clip", direction, clip=1.2)
        recurrent(op, gates, None, direction + "_layout", direction, layout=1)
        recurrent(op, gates, None, direction + "_layout", direction, layout=1, h0=True, c0=True)
        recurrent(op, gates, None, direction + "_old", direction, opset=7)
    for name in ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "HardSigmoid", "LeakyRelu", "Elu"):
        recurrent(op, gates, [name] * len(usual), name)
    recurrent(op, gates, ["HardSigmoid"] * len(usual), "HardSigmoid_given", activation_alpha=[0.3] * len(usual), activation_beta=[0.4] * len(usual))
    recurrent(op, gates, ["LeakyRelu"] * len(usual), "LeakyRelu_given", activation_alpha=[0.3] * len(usual))
    recurrent(op, gates, ["ThresholdedRelu"] * len(usual), "ThresholdedRelu_given", activation_alpha=[0.2] * len(usual))
    recurrent(op, gates, ["Elu"] * len(usual), "Elu_given", activation_alpha=[0.3] * len(usual))
    recurrent(op, gates, ["ScaledTanh"] * len(usual), "ScaledTanh_given", activation_alpha=[0.8] * len(usual), activation_beta=[0.5] * len(usual))
    recurrent(op, gates, ["Affine"] * len(usual), "Affine_given", activation_alpha=[0.5] * len(usual), activation_beta=[0.1] * len(usual))
recurrent("LSTM", 4, None, "peepholes", peep=True)
recurrent("LSTM", 4, None, "peepholes_both", "bidirectional", peep=True, lengths=[2, 4, 1])
recurrent("LSTM", 4, None, "coupled", input_forget=1)
recurrent("LSTM", 4, None, "coupled_both", "bidirectional", input_forget=1, lengths=[2, 4, 1], h0=True, c0=True)

# --- 8 bits
q = f(0, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 127.4, 127.6, 200, 255.4, 255.5, 300, -128.5, -129, -300, 1e9, -1e9, INF, -INF)
for t in (np.uint8, np.int8):
    for zero in (0, 10, -10 if t == np.int8 else 128):
        case("QuantizeLinear", [S(q), np.array(1, F), np.array(zero, t)], opset=13, name=t.__name__)
        case("QuantizeLinear", [S(q), np.array(0.3, F), np.array(zero, t)], opset=10, name=t.__name__)
        case("DequantizeLinear", [S([[0, 1, 5, 100, 127]], t), np.array(0.3, F), np.array(zero, t)], opset=13, name=t.__name__)
case("QuantizeLinear", [S(q), np.array(1, F)], opset=13, name="no_zero")
case("DequantizeLinear", [S([[0, 1, 5, 100, 127]], np.uint8), np.array(0.3, F)], opset=13, name="no_zero")
case("DequantizeLinear", [S([[0, 1, -5, 1000, 127000]], I32), np.array(0.3, F)], opset=13, name="int32")
for axis in (0, 1, -1, -2):
    n = (2, 3)[axis]
    for zeros in ([5] * n, list(range(1, n + 1))):
        case("QuantizeLinear", [S(rng(2, 3)), np.arange(1, n + 1).astype(F) / F(4), np.array(zeros, np.uint8)], dict(axis=axis), opset=13, name="axis", forms=ALL)
        case("DequantizeLinear", [S([[1, 2, 3], [100, 50, 7]], np.uint8), np.arange(1, n + 1).astype(F) / F(4), np.array(zeros, np.uint8)], dict(axis=axis), opset=13, name="axis")
case("QuantizeLinear", [S(q), np.array(0.01, F), np.array(100, np.uint16)], opset=21, name="uint16")
case("QuantizeLinear", [S(q), np.array(0.01, F), np.array(-100, np.int16)], opset=21, name="int16")
case("DynamicQuantizeLinear", [S(rng(2, 3))], opset=11, outputs=3, forms="packed")

# --- losses
for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
    for reduction in ("none", "sum", "mean"):
        for weights in (False, True):
            for ignore in (None, 1, -1):
                x = rng(4, 3) if op[0] == "S" else np.log(np.abs(rng(4, 3)) + F(0.1))
                labels = np.array([0, 2, 1 if ignore != -1 else -1, 1], I64)
                a = dict(reduction=reduction)
                if ignore is not None:
                    a["ignore_index"] = ignore
                case(op, [S(x), labels] + ([f(0.5, 1, 2)] if weights else []), a, opset=13, forms="packed folded")
    case(op, [S(rng(2, 3, 4)), np.array([[0, 1, 2, 0], [2, 1, 0, 1]], I64)], opset=13, forms="packed folded", name="positions")
    case(op, [S(rng(2, 3)), np.array([1, 1], I64)], dict(ignore_index=1), opset=13, forms="packed folded", name="all_ignored")

# --- what is known as the file is read
for start, limit, delta in ((0, 10, 3), (10, 0, -3), (5, 5, 1), (0, -3, 1), (-4, 5, 2)):
    for t in (I64, I32, F):
        case("Range", [np.array(start, t), np.array(limit, t), np.array(delta, t)], opset=11, forms="folded", name=t.__name__)
case("Range", [np.array(0.1, F), np.array(1, F), np.array(0.3, F)], opset=11, forms="folded", name="fraction")
case("Range", [np.array(2 ** 63 - 5, I64), np.array(2 ** 63 - 1, I64), np.array(2, I64)], opset=11, forms="folded", name="large")
case("Range", [np.array(-2 ** 63 + 4, I64), np.array(-2 ** 63, I64), np.array(-3, I64)], opset=11, forms="folded", name="large")
case("Range", [np.array(-2 ** 63, I64), np.array(2 ** 63 - 1, I64), np.array(2 ** 62, I64)], opset=11, forms="folded", name="large")
case("ConstantOfShape", [np.array([2, 3], I64)], opset=9, forms="folded")
case("ConstantOfShape", [np.array([], I64)], dict(value=numpy_helper.from_array(np.array([7], I64))), opset=9, forms="folded")
case("ConstantOfShape", [np.array([2, 1], I64)], dict(value=numpy_helper.from_array(np.array([NAN], F))), opset=9, forms="folded")
case("NonZero", [np.array([[1, 0, 2], [0, 0, -3]], F)], opset=13, forms="folded")
case("Add", [np.array([2 ** 31 - 1], I32), np.array([1], I32)], opset=13, forms="folded", name="wraps")
case("Mul", [np.array([2 ** 62], I64), np.array([4], I64)], opset=13, forms="folded", name="wraps")
case("Neg", [np.array([-2 ** 31, 5], I32)], opset=13, forms="folded", name="wraps")
case("Add", [np.array([200], np.uint8), np.array([100], np.uint8)], opset=14, forms="folded", name="wraps")
case("Add", [np.array([1, 2048, 65504], H), np.array([0.0004, 1, 32], H)], opset=14, forms="folded", name="half")
case("Shape", [S(x234)], opset=15, forms="folded weights")
for a in (dict(start=1), dict(end=-1), dict(start=-2, end=10), dict(start=3), dict(start=-10, end=2)):
    case("Shape", [S(x234)], a, opset=15, forms="folded weights")
case("Size", [S(x234)], opset=13, forms="folded weights")


def main():
    path, prefix = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    count = differ = 0
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        for name, *arguments in CASES:
            if not name.startswith(prefix):
                continue
            try:
                model, x = model_of(*arguments)
            except Exception as e:
                print("NOT MADE", name, repr(e)[:200])
                continue
            ort = ref = None
            try:
                ort = by_onnxruntime(model, x)
            except Exception as e:
                ort_why = str(e).replace("\n", " ")
            try:
                ref = np.asarray(ReferenceEvaluator(model).run(None, {"x": x})[0], F)
            except Exception as e:
                ref_why = repr(e)
            if name in DECIDED:
                y = np.asarray(DECIDED[name], F)
            elif ort is None and ref is None:
                print("NEITHER", name, ort_why[:150], "|", ref_why[:150])
                continue
            else:
                y = ref if ort is None or (ref is not None and name.startswith(REFERENCE)) else ort
                if ort is not None and ref is not None and not close(ort, ref) and not name.startswith(REFERENCE):
                    differ += 1
                    bad = None
                    if ort.shape == ref.shape:
                        bad = ~np.isclose(ort, ref, rtol=1e-5, atol=1e-6, equal_nan=True)
                        print("DIFFER", name, "ort", ort[bad][:6], "ref", ref[bad][:6])
                    else:
                        print("DIFFER", name, "ort", ort.shape, "ref", ref.shape)
            blobs = [name.encode(), model.SerializeToString(), numpy_helper.from_array(x).SerializeToString(),
                     numpy_helper.from_array(np.ascontiguousarray(y, F)).SerializeToString()]
            for blob in blobs:
                out.write(struct.pack("<I", len(blob)) + blob)
            count += 1
    print(count, "cases,", differ, "differ")


main()
