#pragma once

#include <array>
#include <charconv>
#include <string>

namespace glia {

/// Formats a number with `decimals` decimals, at most 60, such as 98.77. Independent of the locale.
[[nodiscard]] inline std::string fixed_text(double value, int decimals) {
  std::array<char, 384> buffer{};  // the largest number has 309 digits before the point
  const auto [end, _] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                      std::chars_format::fixed, decimals);
  return {buffer.data(), end};
}

/// Formats a number with the fewest digits from which it can be read back exactly. Independent of
/// the locale.
[[nodiscard]] inline std::string exact_text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

/// Formats a number with up to `digits` digits, at most 60, and an exponent if necessary: 98.8,
/// 1.2e-05. Independent of the locale.
[[nodiscard]] inline std::string digits_text(double value, int digits) {
  std::array<char, 96> buffer{};
  const auto [end, _] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                      std::chars_format::general, digits);
  return {buffer.data(), end};
}

}  // namespace glia
