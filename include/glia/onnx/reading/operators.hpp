#pragma once

#include <map>
#include <string_view>

#include "glia/onnx/reading/blocks.hpp"
#include "glia/onnx/reading/cast.hpp"
#include "glia/onnx/reading/classes.hpp"
#include "glia/onnx/reading/elementwise.hpp"
#include "glia/onnx/reading/functions.hpp"
#include "glia/onnx/reading/indices.hpp"
#include "glia/onnx/reading/losses.hpp"
#include "glia/onnx/reading/normalization.hpp"
#include "glia/onnx/reading/products.hpp"
#include "glia/onnx/reading/quantization.hpp"
#include "glia/onnx/reading/recurrence.hpp"
#include "glia/onnx/reading/reductions.hpp"
#include "glia/onnx/reading/resize.hpp"
#include "glia/onnx/reading/shapes.hpp"
#include "glia/onnx/reading/windows.hpp"

namespace glia::onnx::reading {

using reader_function = void (*)(operation&);

/// Returns the function that reads an operator, or null if glia does not support it.
[[nodiscard]] inline reader_function reader_of(std::string_view operator_name) {
  using f = unary_function;
  using b = binary_function;
  static const std::map<std::string_view, reader_function> functions{
      // element by element
      {"Abs", unary<f::abs>},
      {"Add", add},
      {"And", both},
      {"Ceil", ceil},
      {"Celu", celu},
      {"Clip", clip},
      {"Cos", unary<f::cos>},
      {"Div", divide},
      {"Elu", elu},
      {"Equal", equal},
      {"Erf", erf},
      {"Exp", unary<f::exp>},
      {"Floor", unary<f::floor>},
      {"Gelu", gelu},
      {"Greater", compare<false, false>},
      {"GreaterOrEqual", compare<false, true>},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", hard_swish},
      {"IsInf", is_infinite},
      {"IsNaN", is_nan},
      {"LeakyRelu", leaky_relu},
      {"Less", compare<true, false>},
      {"LessOrEqual", compare<true, true>},
      {"Log", unary<f::log>},
      {"Max", fold<b::maximum>},
      {"Mean", mean},
      {"Min", fold<b::minimum>},
      {"Mish", mish},
      {"Mod", modulo},
      {"Mul", multiply},
      {"Neg", negate},
      {"Not", negation},
      {"Or", either},
      {"PRelu", prelu},
      {"Pow", pow},
      {"Reciprocal", unary<f::reciprocal>},
      {"Relu", unary<f::relu>},
      {"Round", round},
      {"Selu", selu},
      {"Shrink", shrink},
      {"Sigmoid", unary<f::sigmoid>},
      {"Sin", unary<f::sin>},
      {"Sign", sign},
      {"Softplus", unary<f::softplus>},
      {"Softsign", softsign},
      {"Sqrt", unary<f::sqrt>},
      {"Sub", subtract},
      {"Sum", fold<b::add>},
      {"Tanh", unary<f::tanh>},
      {"ThresholdedRelu", thresholded_relu},
      {"Where", where},
      {"Xor", one_of},
      // arrangement
      {"Cast", cast},
      {"CastLike", cast},
      {"Compress", compress},
      {"Concat", concat},
      {"DepthToSpace", depth_to_space},
      {"Expand", expand},
      {"EyeLike", eye_like},
      {"Flatten", flatten},
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"Identity", identity},
      {"OneHot", one_hot},
      {"Pad", pad},
      {"Reshape", reshape},
      {"ReverseSequence", reverse_sequence},
      {"Scatter", scatter_elements},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"Slice", slice},
      {"SpaceToDepth", space_to_depth},
      {"Split", split},
      {"Squeeze", squeeze},
      {"Tile", tile},
      {"Transpose", transpose},
      {"Trilu", triangle},
      {"Unsqueeze", unsqueeze},
      // reductions
      {"ArgMax", arg_extremum<true>},
      {"ArgMin", arg_extremum<false>},
      {"CumSum", cumsum},
      {"Hardmax", hardmax},
      {"LogSoftmax", log_softmax},
      {"ReduceL1", reduce_l1},
      {"ReduceL2", reduce_l2},
      {"ReduceLogSum", reduce_log_sum},
      {"ReduceLogSumExp", reduce_log_sum_exp},
      {"ReduceMax", reduce_extremum<true>},
      {"ReduceMean", reduce_mean},
      {"ReduceMin", reduce_extremum<false>},
      {"ReduceProd", reduce_product},
      {"ReduceSum", reduce_sum},
      {"ReduceSumSquare", reduce_sum_square},
      {"Softmax", softmax},
      // products and windows
      {"AveragePool", average_pool},
      {"Conv", convolution},
      {"ConvTranspose", transposed_convolution},
      {"Gemm", gemm},
      {"GlobalAveragePool", global_average_pool},
      {"GlobalMaxPool", global_max_pool},
      {"MatMul", matmul},
      {"MaxPool", max_pool},
      {"Resize", resize},
      {"Upsample", resize},
      // numbers of 8 bits
      {"DequantizeLinear", dequantize_linear},
      {"QuantizeLinear", quantize_linear},
      // normalization
      {"BatchNormalization", batch_normalization},
      {"Dropout", dropout},
      {"GroupNormalization", group_normalization},
      {"InstanceNormalization", instance_normalization},
      {"LRN", local_response_normalization},
      {"LayerNormalization", layer_normalization},
      {"LpNormalization", lp_normalization},
      {"MeanVarianceNormalization", mean_variance_normalization},
      // recurrence
      {"GRU", recurrence<recurrent_cell::gru>},
      {"LSTM", recurrence<recurrent_cell::lstm>},
      {"RNN", recurrence<recurrent_cell::simple>},
      // losses
      {"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
      {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
  };
  const auto found = functions.find(operator_name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace glia::onnx::reading
