#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"

namespace glia::detail {

/// A tensor of a file that is not damaged, but whose elements cannot be had as the type that is
/// asked for. It does no harm to those beside it.
struct unreadable_elements : data_error {
  using data_error::data_error;
};

/// Whether a number of a file can be kept as type To. Floating-point numbers are rounded to the
/// nearest one that To has, and a tiny one becomes zero, but none becomes infinite. An integer
/// must stay what it is: of 2^24 + 1 a float has only the neighbours.
template <class To, class From>
[[nodiscard]] bool representable(From value) {
  if constexpr (std::floating_point<To> && std::floating_point<From>) {
    return sizeof(To) >= sizeof(From) || !std::isfinite(value) ||
           std::isfinite(static_cast<To>(value));
  } else if constexpr (std::floating_point<To>) {
    // A rounded value may be one more than From has, and could not be compared as a From.
    const To rounded = static_cast<To>(value);
    return rounded < std::ldexp(To{1}, std::numeric_limits<From>::digits) &&
           static_cast<From>(rounded) == value;
  } else if constexpr (std::floating_point<From>) {
    return std::trunc(value) == value &&
           value >= static_cast<From>(std::numeric_limits<To>::min()) &&
           value < std::ldexp(From{1}, std::numeric_limits<To>::digits);
  } else {
    return std::in_range<To>(value);
  }
}

/// Converts elements of a file: `number(i)` is the one that goes to `to[i]`, and is number
/// `begin + i` of the tensor. Throws `unreadable_elements` for one that To cannot represent:
/// `where` names the tensor, `type` is the file's name for the type of its elements, and `advice`
/// says what to do.
template <class To, class Number>
void convert_numbers(std::size_t count, const Number& number, To* to, const std::string& where,
                     std::string_view type, std::string_view advice, std::size_t begin = 0) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = number(i);
    // The text is only made where it is needed.
    if (!representable<To>(value)) {
      throw unreadable_elements(
          text(where, ": element ", begin + i, ", ", +value, " (", type, "), cannot be kept as ",
               std::floating_point<To> ? "a floating-point number" : "an integer", " of ",
               8 * sizeof(To), " bits; ", advice));
    }
    to[i] = static_cast<To>(value);  // NOLINT(bugprone-signed-char-misuse): a number
  }
}

}  // namespace glia::detail
