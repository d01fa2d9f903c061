#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace glia {

namespace detail {

/// Formats a number like `std::to_chars`, by means of snprintf. libc++ 13 has `std::to_chars` only
/// for integers. It comes with C libraries that print a point in every locale.
[[nodiscard]] inline std::string print_number(double value, std::chars_format format, int digits) {
  std::array<char, 384> buffer{};  // the largest number has 309 digits before the point
  const int size =
      std::snprintf(buffer.data(), buffer.size(),
                    format == std::chars_format::fixed ? "%.*f" : "%.*g", digits, value);
  return {buffer.data(), static_cast<std::size_t>(size)};
}
[[nodiscard]] inline std::string print_number(double value) {
  constexpr int max_digits = 17;
  std::string text;
  for (int digits = 1;
       digits == 1 || (digits <= max_digits && std::strtod(text.c_str(), nullptr) != value);
       ++digits) {
    text = print_number(value, std::chars_format::general, digits);
  }
  return text;
}

/// Formats a number in at most `Size` characters, with any C++ library. NaN has no sign.
template <std::size_t Size, std::floating_point T, class... Format>
[[nodiscard]] std::string format_number(T value, Format... format) {
  if (std::isnan(value)) {
    return "nan";
  }
  std::array<char, Size> buffer{};
  char* const first = buffer.data();
  if constexpr (requires { std::to_chars(first, first, value, format...); }) {
    return {first, std::to_chars(first, first + Size, value, format...).ptr};
  } else {
    return print_number(value, format...);
  }
}

}  // namespace detail

/// Formats a number with `decimals` decimals, at most 60, such as 98.77. Independent of the locale.
[[nodiscard]] inline std::string fixed_text(double value, int decimals) {
  return detail::format_number<384>(value, std::chars_format::fixed, decimals);
}

/// Formats a number with the fewest digits from which it can be read back exactly. Independent of
/// the locale.
[[nodiscard]] inline std::string exact_text(double value) {
  return detail::format_number<32>(value);
}

/// Formats a number with up to `digits` digits, at most 60, and an exponent if necessary: 98.8,
/// 1.2e-05. Independent of the locale.
[[nodiscard]] inline std::string digits_text(double value, int digits) {
  return detail::format_number<96>(value, std::chars_format::general, digits);
}

}  // namespace glia
