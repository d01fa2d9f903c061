#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/onnx/reading/numbers.hpp"
#include "glia/onnx/reading/tensor_data.hpp"

namespace glia::onnx {

/// The meaning of quantized integers q: they represent (q - zero) * scale. There is one scale and
/// zero for the whole tensor, or one for each index along an axis.
struct quantized_steps {
  std::vector<double> scales;
  std::vector<double> zeros;
  std::optional<std::size_t> axis{};
  element_type type = ::onnx::TensorProto::INT8;  ///< Type of the integers.

  /// Returns whether the integers are signed and symmetric around 0.
  [[nodiscard]] bool symmetric() const {
    return type == ::onnx::TensorProto::INT8 &&
           std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == 0; });
  }
  /// Returns the number that element i, with the integer q, represents in a tensor of these
  /// extents.
  [[nodiscard]] double number_of(double q, const dims& extents, std::size_t i) const {
    const std::size_t index = axis ? index_along(*axis, extents, i) : 0;
    return (q - zeros[index]) * scales[index];
  }
  friend bool operator==(const quantized_steps&, const quantized_steps&) = default;
};

/// Returns the numbers that quantized integers represent.
[[nodiscard]] inline numbers dequantized(const numbers& whole, const quantized_steps& steps) {
  std::vector<double> elements;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    elements.push_back(steps.number_of(whole.at(i), whole.extents, i));
  }
  return real_numbers(std::move(elements), whole.extents);
}

/// Weights of a file that have not been read yet.
struct weight {
  std::string name;
  tensor_data data;
  /// Scales and zero points; set if the file stores integers.
  std::optional<quantized_steps> steps{};

  [[nodiscard]] element_type type() const {
    return steps ? element_type{::onnx::TensorProto::FLOAT} : data.message->data_type();
  }
};

/// Returns the elements as numbers. Throws `data_error` if they exceed the limit.
[[nodiscard]] inline numbers numbers_of(const weight& w) {
  numbers result = numbers_of(w.data);
  return w.steps ? dequantized(result, *w.steps) : result;
}
/// Returns the elements as floats, in the file's order.
[[nodiscard]] inline std::vector<float> floats_of(const weight& w) {
  std::vector<float> elements = floats_of(w.data);
  const dims extents = extents_of(*w.data.message);
  for (std::size_t i = 0; w.steps && i < elements.size(); ++i) {
    elements[i] =
        static_cast<float>(w.steps->number_of(static_cast<double>(elements[i]), extents, i));
  }
  return elements;
}

/// The axes in memory that form each axis of the file: none, one or several. The first one varies
/// slowest.
using axis_layout = std::vector<std::vector<std::size_t>>;

/// A tensor of the file. Its axes can have another order in memory: an image that is (N, C, H, W)
/// in the file is (N, H, W, C) in memory. An image that the file flattens to (N, C H W) can have
/// the same order in memory. Therefore, operators that permute, join or split axes add no nodes to
/// the graph until a node needs another order.
///
/// A default-constructed object stands for "no tensor", such as an omitted operand.
struct tensor {
  element_type type = ::onnx::TensorProto::UNDEFINED;
  dims extents;  ///< Extents of the file's axes.
  /// Values; set if they depend on neither samples nor weights.
  std::shared_ptr<const numbers> known{};
  /// Value of `known` for a batch with one more sample, if it differs.
  std::shared_ptr<const numbers> beyond{};
  const weight* source = nullptr;  ///< Weight, possibly with permuted axes; null for other tensors.
  value_id id = no_value;          ///< Value of the graph, if the tensor is computed.
  dims stored{};                   ///< Extents in memory; empty if `known` is set.
  axis_layout axes{};

  [[nodiscard]] explicit operator bool() const noexcept {
    return known != nullptr || source != nullptr || id != no_value;
  }
  [[nodiscard]] std::size_t rank() const noexcept { return extents.size(); }
  [[nodiscard]] std::size_t size() const { return count_of(extents); }
  [[nodiscard]] bool computed() const noexcept { return id != no_value; }
};

[[nodiscard]] inline axis_layout plain_layout(std::size_t rank) {
  axis_layout axes;
  for (std::size_t i = 0; i < rank; ++i) {
    axes.push_back({i});
  }
  return axes;
}

[[nodiscard]] inline tensor known_tensor(numbers values) {
  tensor result{values.type, values.extents};
  result.known = std::make_shared<const numbers>(std::move(values));
  return result;
}

[[nodiscard]] inline tensor weight_tensor(const weight& source) {
  tensor result{source.type(), extents_of(*source.data.message)};
  result.source = &source;
  result.stored = result.extents;
  result.axes = plain_layout(result.rank());
  return result;
}

/// Returns the extents in memory that form an axis of the file.
[[nodiscard]] inline dims stored_extents(const tensor& t, std::size_t axis) {
  dims extents;
  for (const std::size_t place : t.axes[axis]) {
    extents.push_back(t.stored[place]);
  }
  return extents;
}

/// Returns whether a value consists of known numbers. Results that are computed only from known
/// numbers are known numbers, too.
[[nodiscard]] inline bool is_numbers(const tensor& t) {
  return !t || t.known != nullptr || (t.source != nullptr && t.size() <= 1);
}

/// Returns the axes in memory, in the order of the file's axes.
[[nodiscard]] inline std::vector<std::size_t> flat(const axis_layout& axes) {
  std::vector<std::size_t> result;
  for (const auto& places : axes) {
    result.insert(result.end(), places.begin(), places.end());
  }
  return result;
}

}  // namespace glia::onnx
