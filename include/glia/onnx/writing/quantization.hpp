#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

/// Weights are stored as bytes; computed values are quantized and dequantized.
[[nodiscard]] inline values lower(const lowering& l, const kernels::fake_quantize& k) {
  writer& w = l.out;
  require<value_error>(
      l.x[1].known != nullptr, "onnx: the layer '", l.place,
      "' quantizes with scales that depend on its inputs, which ONNX does not support");
  const std::vector<float>& scales = l.x[1].known->numbers;
  const value& x = l.x[0];
  const std::size_t last = x.rank() - 1;
  if (x.known != nullptr && x.known->weights && k.range.zero == 0 && k.range.minimum < 0) {
    constant weights = *x.known;
    weights.scales = scales;
    weights.scales.resize(weights.shape[last], scales[0]);
    weights.range = k.range;
    return {writer::constant_value(w.keep(std::move(weights)))};
  }
  const bool with_signs = k.range.minimum < 0;
  const std::int32_t lowest = with_signs ? -128 : 0;
  std::string input = w.use(x);
  if (k.range.minimum != lowest || k.range.maximum != lowest + 255) {
    require<value_error>(
        scales.size() == 1, "onnx: the layer '", l.place,
        "' quantizes to a part of a byte with several scales, which ONNX does not support");
    const auto bound = [&](std::int32_t q) {
      return w.number(static_cast<double>(q - k.range.zero) * static_cast<double>(scales[0]));
    };
    input = w.call("Clip", {input, bound(k.range.minimum), bound(k.range.maximum)});
  }
  const std::vector<std::int32_t> zeros(scales.size(), k.range.zero);
  const shape scale_shape = scales.size() == 1 ? shape{} : shape{scales.size()};
  const names operands{w.numbers(text(l.place, ".scale"), scale_shape, scales),
                       w.bytes(text(l.place, ".zero_point"), scale_shape, zeros, with_signs)};
  const auto axis = std::find(x.order.begin(), x.order.end(), last) - x.order.begin();
  const auto with_axis = [&](::onnx::NodeProto& node) {
    if (scales.size() > 1) {
      writer::set(node, "axis", static_cast<std::int64_t>(axis));
    }
  };
  const std::string whole = w.call("QuantizeLinear", {input, operands[0], operands[1]}, with_axis);
  return {
      l.result(w.call("DequantizeLinear", {whole, operands[0], operands[1]}, with_axis), x.order)};
}

}  // namespace glia::onnx
