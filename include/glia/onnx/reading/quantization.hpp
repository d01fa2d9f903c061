#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/onnx/reading/alignment.hpp"
#include "glia/onnx/reading/parts.hpp"

// 8-bit quantization. A QuantizeLinear node followed by DequantizeLinear is glia's fake_quantize.
// Weights that are stored as integers are read as numbers, followed by a fake_quantize.
namespace glia::onnx::reading {

/// Returns the scales and zero points in operands 1 and 2: one for the whole tensor, or one for
/// each index along an axis.
[[nodiscard]] inline quantized_steps quantized_steps_of(operation& n, element_type type) {
  require<data_error>(
      n.integer("block_size", 0) == 0,
      "quantizes in blocks; glia supports one scale, or one for each index of an axis");
  const tensor& x = n.operand(0);
  quantized_steps steps;
  const numbers scales = n.known(1);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    steps.scales.push_back(scales.at(i));
    require<data_error>(std::isfinite(steps.scales.back()) && steps.scales.back() > 0,
                        "has the scale ", steps.scales.back(), "; expected numbers above 0");
  }
  steps.zeros.assign(steps.scales.size(), 0);
  if (n.has(2)) {
    const numbers zeros = n.known(2);
    require<data_error>(zeros.size() == steps.scales.size(), "has ", steps.scales.size(),
                        " scales and ", zeros.size(), " zero points");
    for (std::size_t i = 0; i < zeros.size(); ++i) {
      steps.zeros[i] = zeros.at(i);
    }
  }
  if (steps.scales.size() != 1) {
    steps.axis = axis_in(n.integer("axis", 1), x.rank());
    require<data_error>(x.extents[*steps.axis] == steps.scales.size(), "has ", steps.scales.size(),
                        " scales along an axis of the shape ", words(x.extents));
  }
  steps.type = type;
  return steps;
}

/// Returns the range of integers of a type. Throws `data_error` if it does not have 8 bits.
[[nodiscard]] inline kernels::byte_range range_of(element_type type, double zero) {
  using P = ::onnx::TensorProto;
  require<data_error>(type == P::UINT8 || type == P::INT8, "quantizes to ", name_of_type(type),
                      "; glia supports INT8 and UINT8");
  const std::int32_t minimum = type == P::INT8 ? -128 : 0;
  require<data_error>(minimum <= zero && zero <= minimum + 255, "has the zero point ", zero,
                      "; expected ", minimum, " to ", minimum + 255);
  return {static_cast<std::int32_t>(zero), minimum, minimum + 255};
}

/// Returns a tensor with one number for each index along an axis. It can be broadcast to a tensor
/// of `rank` axes.
[[nodiscard]] inline tensor axis_tensor(const std::vector<double>& values,
                                        std::optional<std::size_t> axis, std::size_t rank) {
  dims extents(axis ? rank : 0, 1);
  if (axis) {
    extents[*axis] = values.size();
  }
  return known_tensor(real_numbers(values, extents));
}

/// Quantizes by separate nodes that round, shift and bound numbers, if fake_quantize cannot be
/// used.
inline void quantize_plainly(operation& n, const quantized_steps& steps) {
  using P = ::onnx::TensorProto;
  require<data_error>(steps.type == P::INT8 || steps.type == P::UINT8 || steps.type == P::INT16 ||
                          steps.type == P::UINT16,
                      "quantizes to ", name_of_type(steps.type),
                      "; glia supports INT8, UINT8, INT16 and UINT16");
  const bool bytes = steps.type == P::INT8 || steps.type == P::UINT8;
  const bool has_sign = steps.type == P::INT8 || steps.type == P::INT16;
  const double maximum = (bytes ? 0x1p8 : 0x1p16) / (has_sign ? 2 : 1) - 1;
  const double minimum = has_sign ? -maximum - 1 : 0;
  const std::size_t rank = n.operand(0).rank();
  const std::vector<tensor> three{in_graph(n.out, n.x[0]),
                                  axis_tensor(steps.zeros, steps.axis, rank),
                                  axis_tensor(steps.scales, steps.axis, rank)};
  const aligned operands = align(n.out, three);
  const value_id whole = rounded_to_even(
      n.out, n.out.binary(binary_function::divide, operands.values[0], operands.values[2]));
  tensor result = graph_builder::with_value(
      operands.like, n.out.apply(unary_map{unary_function::clamp, minimum, maximum},
                                 n.out.add(whole, operands.values[1])));
  result.type = steps.type;
  n.give(std::move(result));
}

inline void quantize_linear(operation& n) {
  const tensor& x = n.operand(0);
  const element_type type =
      n.has(2) ? n.x[2].type
               : static_cast<element_type>(n.integer("output_dtype", ::onnx::TensorProto::UINT8));
  const quantized_steps steps = quantized_steps_of(n, type);
  const bool one_zero = std::equal(steps.zeros.begin() + 1, steps.zeros.end(), steps.zeros.begin());
  using P = ::onnx::TensorProto;
  if (!one_zero || (type != P::INT8 && type != P::UINT8)) {
    return quantize_plainly(n, steps);
  }
  const kernels::byte_range range = range_of(type, steps.zeros.at(0));
  tensor source = in_graph(n.out, x);
  if (steps.axis && (source.axes[*steps.axis].size() != 1 ||
                     source.axes[*steps.axis][0] + 1 != source.stored.size())) {
    axis_order last = plain_order(x.rank());
    std::rotate(last.begin() + static_cast<std::ptrdiff_t>(*steps.axis),
                last.begin() + static_cast<std::ptrdiff_t>(*steps.axis) + 1, last.end());
    source = n.out.computed(n.out.stored_as(source, last), last);
  }
  const value_id scales = n.out.constant({steps.scales.size()}, steps.scales);
  tensor near = graph_builder::with_value(
      source, n.out.call(kernels::fake_quantize{range}, {source.id, scales}));
  // This value is the result as the file defines it. Nodes that dequantize it use `near` instead,
  // so this usually remains unused.
  const std::vector<tensor> both{near, axis_tensor(steps.scales, steps.axis, x.rank())};
  const aligned operands = align(n.out, both);
  tensor whole = graph_builder::with_value(
      operands.like, n.out.apply({unary_function::affine, 1, static_cast<double>(range.zero)},
                                 n.out.divide(operands.values[0], operands.values[1])));
  whole.type = type;
  near.type = ::onnx::TensorProto::FLOAT;
  n.out.quantized.emplace(whole.id, graph_builder::quantized_value{near, steps});
  n.give(std::move(whole));
}

inline void dequantize_linear(operation& n) {
  const tensor& x = n.operand(0);
  const quantized_steps steps = quantized_steps_of(n, x.type);
  const auto found = n.out.quantized.find(x.id);
  if (x.computed() && found != n.out.quantized.end() && found->second.steps == steps) {
    return n.give(found->second.near);
  }
  if (x.known != nullptr || (x.source != nullptr && is_real(x.type))) {
    return n.give(known_tensor(dequantized(n.known(0), steps)));
  }
  if (x.source != nullptr && (!steps.axis || x.axes[*steps.axis].size() == 1)) {
    return n.give(n.out.dequantized(x, steps));
  }
  const tensor source = in_graph(n.out, x);
  const std::vector<tensor> three{source, axis_tensor(steps.zeros, steps.axis, x.rank()),
                                  axis_tensor(steps.scales, steps.axis, x.rank())};
  const aligned operands = align(n.out, three);
  n.give(graph_builder::with_value(
      operands.like,
      n.out.multiply(n.out.subtract(operands.values[0], operands.values[1]), operands.values[2])));
  n.results[0].type = ::onnx::TensorProto::FLOAT;
}

}  // namespace glia::onnx::reading
