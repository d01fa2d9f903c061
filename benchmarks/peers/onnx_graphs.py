"""The peers' networks as ONNX graphs with random weights, built in memory, for the runtimes that only infer.

Batch normalization is folded, as exporters do it; weights are drawn so that activations keep their size.
"""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """A chain of nodes: each method appends some, returns the name of what they compute."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def node(self, operator, inputs, **attributes):
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, shape):
        deviation = (2 / numpy.prod(shape[1:])) ** 0.5
        return self.constant(self.random.normal(0, deviation, shape).astype(numpy.float32))

    def conv(self, x, shape, stride=1, pads=(0, 0, 0, 0), groups=1):
        """A kernel of shape (out channels, channels of a group, rows, columns) and a bias."""
        bias = self.constant(numpy.zeros(shape[0], numpy.float32))
        return self.node("Conv", [x, self.weights(shape), bias], strides=[stride, stride], pads=list(pads),
                         group=groups)

    def dense(self, x, inputs, outputs):
        bias = self.constant(numpy.zeros(outputs, numpy.float32))
        return self.node("Gemm", [x, self.weights((outputs, inputs)), bias], transB=1)

    def relu6(self, x):
        limits = [self.constant(numpy.float32(limit)) for limit in (0, 6)]
        return self.node("Clip", [x, *limits])

    def serialized(self, input_shape, output, output_shape):
        """The model's bytes; its input is "x"."""
        described = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                     for name, shape in (("x", input_shape), (output, output_shape))]
        graph = helper.make_graph(self.nodes, "peer", [described[0]], [described[1]], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        return model.SerializeToString()


def mnist_cnn(batch, seed):
    """(batch, 1, 28, 28) to (batch, 10): conv 64 2x2, pool, conv 32 2x2, pool, dense 256, dense 10."""
    graph, x = Graph(seed), "x"
    for inputs, outputs in ((1, 64), (64, 32)):
        x = graph.conv(x, (outputs, inputs, 2, 2), pads=(0, 0, 1, 1))
        x = graph.node("Relu", [x])
        x = graph.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = graph.node("Flatten", [x])
    x = graph.node("Relu", [graph.dense(x, 1568, 256)])
    return graph.serialized((batch, 1, 28, 28), graph.dense(x, 256, 10), (batch, 10))


def mobilenet_v2(batch, seed):
    """(batch, 3, 224, 224) to (batch, 1280): MobileNetV2 of width 1 without its classifier."""
    graph = Graph(seed)

    def unit(x, inputs, outputs, kernel, stride=1, groups=1):
        return graph.conv(x, (outputs, inputs // groups, kernel, kernel), stride, [kernel // 2] * 4, groups)

    def bottleneck(x, inputs, outputs, stride, expansion):
        inner = inputs * expansion
        y = graph.relu6(unit(x, inputs, inner, 1)) if expansion > 1 else x
        y = unit(graph.relu6(unit(y, inner, inner, 3, stride, inner)), inner, outputs, 1)
        return graph.node("Add", [x, y]) if stride == 1 and inputs == outputs else y

    x, channels = graph.relu6(unit("x", 3, 32, 3, 2)), 32
    for expansion, outputs, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                               (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(blocks):
            x = bottleneck(x, channels, outputs, stride if i == 0 else 1, expansion)
            channels = outputs
    x = graph.node("GlobalAveragePool", [graph.relu6(unit(x, channels, 1280, 1))])
    return graph.serialized((batch, 3, 224, 224), graph.node("Flatten", [x]), (batch, 1280))
