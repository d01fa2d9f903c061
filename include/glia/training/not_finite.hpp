#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/graph/graph.hpp"

namespace glia::detail {

/// Whether all numbers are finite: neither infinite nor NaN.
template <std::floating_point T>
[[nodiscard]] bool all_finite(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
}
/// Whether all numbers are finite.
[[nodiscard]] inline bool all_finite(const named_tensor& t) {
  return std::visit([](const auto& values) { return all_finite(values); }, t.values);
}
/// Whether all numbers are finite.
[[nodiscard]] inline bool all_finite(const std::vector<named_tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const named_tensor& t) { return all_finite(t); });
}
/// Whether all numbers are finite.
[[nodiscard]] inline bool all_finite(const glia::device& device, const tensor& t) {
  if (t.type() != element::real) {
    return true;
  }
  return std::visit([](const auto& values) { return all_finite(values); }, numbers_of(device, t));
}

/// Describes a kernel of a training step, such as "dense_1, backward (product)".
[[nodiscard]] inline std::string text_of(const graph_place& place, std::string_view kernel) {
  static constexpr const char* phases[] = {"forward", "backward", "update"};
  return (place.name.empty() ? "the step" : place.name) + ", " +
         phases[static_cast<std::size_t>(place.phase)] + " (" + std::string(kernel) + ')';
}

}  // namespace glia::detail
