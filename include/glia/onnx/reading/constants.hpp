#pragma once

#include <cstdint>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/model_content.hpp"
#include "glia/onnx/reading/tensor.hpp"

// Values that the file contains: its tensors and the results of `Constant` nodes.
namespace glia::onnx::reading {

/// Returns the elements of a tensor of the file as known numbers.
[[nodiscard]] inline tensor stored_numbers(const ::onnx::TensorProto& message,
                                           const model_content& content) {
  const weight* const w = content.weight_of(message);  // null for a copied tensor
  return known_tensor(numbers_of(w == nullptr ? tensor_data{&message, {}} : w->data));
}

/// Returns a tensor of the file as a weight. Integers become known numbers, unless they are
/// quantized.
[[nodiscard]] inline tensor stored_weight(const ::onnx::TensorProto& message,
                                          const model_content& content, bool quantized) {
  const weight* const w = content.weight_of(message);  // null for a copied tensor
  return w != nullptr && (is_real(message.data_type()) || quantized)
             ? weight_tensor(*w)
             : stored_numbers(message, content);
}

/// Returns the only attribute of a `Constant` node, which contains its value.
[[nodiscard]] inline const ::onnx::AttributeProto& constant_attribute(
    const ::onnx::NodeProto& node) {
  require<data_error>(node.output_size() == 1 && node.attribute_size() == 1, "is a constant with ",
                      node.attribute_size(), " values; expected one value");
  return node.attribute(0);
}

/// Returns the value of the attribute of a `Constant` node. `quantized` tells whether its result is
/// dequantized later.
[[nodiscard]] inline tensor constant_value(const ::onnx::AttributeProto& a,
                                           const model_content& content, bool quantized) {
  if (a.name() == "value" && a.has_t()) {
    return content.weights_are_constants() ? stored_weight(a.t(), content, quantized)
                                           : stored_numbers(a.t(), content);
  }
  if (a.name() == "value_int") {
    return known_tensor(integer_numbers({a.i()}, {}));
  }
  if (a.name() == "value_ints") {
    const std::vector<std::int64_t> elements(a.ints().begin(), a.ints().end());
    return known_tensor(integer_numbers(elements, {elements.size()}));
  }
  if (a.name() == "value_float") {
    return known_tensor(real_numbers({a.f()}, {}));
  }
  if (a.name() == "value_floats") {
    const std::vector<double> elements(a.floats().begin(), a.floats().end());
    return known_tensor(real_numbers(elements, {elements.size()}));
  }
  throw data_error(text("is a constant of the unsupported kind '", a.name(), "'"));
}

}  // namespace glia::onnx::reading
