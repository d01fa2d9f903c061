#pragma once

// The texts of attributes of StableHLO operations: lists and precisions.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glia::stablehlo {

/// Axes, or other lists of 64-bit integers.
using numbers = std::vector<std::int64_t>;

/// Formats a list: [1, 2, 3].
[[nodiscard]] inline std::string list_text(std::span<const std::int64_t> values) {
  std::string result;
  for (const std::int64_t v : values) {
    result += (result.empty() ? "" : ", ") + std::to_string(v);
  }
  return result;
}
/// Formats an array attribute: array<i64: 1, 2, 3>.
[[nodiscard]] inline std::string array_text(std::span<const std::int64_t> values) {
  return values.empty() ? "array<i64>" : "array<i64: " + list_text(values) + '>';
}

/// Formats the precision of both operands of a product.
[[nodiscard]] inline std::string precision_text(std::string_view precision) {
  const std::string entry = "#stablehlo<precision " + std::string(precision) + ">";
  return "precision_config = [" + entry + ", " + entry + "]";
}

}  // namespace glia::stablehlo
