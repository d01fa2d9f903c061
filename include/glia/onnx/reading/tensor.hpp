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

/// How whole numbers of a file stand for others: (q - zero) * scale, with one of both or with one
/// for each index along an axis.
struct quantized_steps {
  std::vector<double> scales;
  std::vector<double> zeros;
  std::optional<std::size_t> axis{};
  element_type type = ::onnx::TensorProto::INT8;  ///< of the whole numbers

  /// Whether they are signed, and stand for as much below 0 as above it.
  [[nodiscard]] bool symmetric() const {
    return type == ::onnx::TensorProto::INT8 &&
           std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == 0; });
  }
  /// What element i of a tensor of these extents stands for, being q.
  [[nodiscard]] double number_of(double q, const dims& extents, std::size_t i) const {
    const std::size_t at = axis ? index_along(*axis, extents, i) : 0;
    return (q - zeros[at]) * scales[at];
  }
  friend bool operator==(const quantized_steps&, const quantized_steps&) = default;
};

/// The numbers that whole ones stand for.
[[nodiscard]] inline numbers dequantized(const numbers& whole, const quantized_steps& steps) {
  std::vector<double> made;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    made.push_back(steps.number_of(whole.at(i), whole.extents, i));
  }
  return real_numbers(std::move(made), whole.extents);
}

/// Weights of a file, not read yet.
struct weight {
  std::string name;
  tensor_data data;
  std::optional<quantized_steps> steps{};  ///< where the file has them as whole numbers

  [[nodiscard]] element_type type() const {
    return steps ? element_type{::onnx::TensorProto::FLOAT} : data.message->data_type();
  }
};

/// The elements as numbers. Throws `data_error` for more than are taken.
[[nodiscard]] inline numbers numbers_of(const weight& w) {
  numbers all = numbers_of(w.data);
  return w.steps ? dequantized(all, *w.steps) : all;
}
/// The elements as floats, in the file's order.
[[nodiscard]] inline std::vector<float> floats_of(const weight& w) {
  std::vector<float> all = floats_of(w.data);
  const dims extents = extents_of(*w.data.message);
  for (std::size_t i = 0; w.steps && i < all.size(); ++i) {
    all[i] = static_cast<float>(w.steps->number_of(static_cast<double>(all[i]), extents, i));
  }
  return all;
}

/// Which of the axes that lie in memory make each axis of the file's: none, one or several, of
/// which the first varies slowest.
using axis_layout = std::vector<std::vector<std::size_t>>;

/// A tensor of the file. Its axes need not lie in memory as the file has them: an image that the
/// file has as (N, C, H, W) lies there as (N, H, W, C), and one of (N, C H W) may, too. So what
/// turns, joins and splits axes writes no operation, until one needs them in another order.
///
/// By default none, as an operand that is left out.
struct tensor {
  element_type type = ::onnx::TensorProto::UNDEFINED;
  dims extents;                             ///< of the file's axes
  std::shared_ptr<const numbers> known{};   ///< if it depends on no sample and on no weights
  std::shared_ptr<const numbers> beyond{};  ///< what `known` is for one more sample, if it differs
  const weight* from = nullptr;             ///< if it is weights, whatever their axes are now
  value_id id = no_value;                   ///< of the graph, if it is computed
  dims stored{};                            ///< extents in memory, but of what is known
  axis_layout axes{};

  [[nodiscard]] explicit operator bool() const noexcept {
    return known != nullptr || from != nullptr || id != no_value;
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

[[nodiscard]] inline tensor known_tensor(numbers all) {
  tensor result{all.type, all.extents};
  result.known = std::make_shared<const numbers>(std::move(all));
  return result;
}

[[nodiscard]] inline tensor weight_tensor(const weight& of) {
  tensor result{of.type(), extents_of(*of.data.message)};
  result.from = &of;
  result.stored = result.extents;
  result.axes = plain_layout(result.rank());
  return result;
}

/// The places in memory of all axes, in the order of the file's.
[[nodiscard]] inline std::vector<std::size_t> flat(const axis_layout& axes) {
  std::vector<std::size_t> all;
  for (const auto& places : axes) {
    all.insert(all.end(), places.begin(), places.end());
  }
  return all;
}

}  // namespace glia::onnx
