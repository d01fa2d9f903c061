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

/// Thrown if the elements of an undamaged tensor in a file cannot be converted to the requested
/// type. The file's other tensors can still be read.
struct unreadable_elements : data_error {
  using data_error::data_error;
};

/// Returns whether a number of a file can be stored as type To. Floating-point numbers may be
/// rounded to the nearest value, also to zero, but not to infinity. Integers must remain exact: a
/// float cannot store 2^24 + 1.
template <class To, class From>
[[nodiscard]] bool representable(From value) {
  if constexpr (std::floating_point<To> && std::floating_point<From>) {
    return sizeof(To) >= sizeof(From) || !std::isfinite(value) ||
           std::isfinite(static_cast<To>(value));
  } else if constexpr (std::floating_point<To>) {
    // The rounded value may exceed From's range by one, so it cannot be compared as a From.
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

/// Converts `count` elements of a tensor in a file. `number(i)` returns element `begin + i` of the
/// tensor. This element is stored in `destination[i]`. Throws `unreadable_elements` if To cannot
/// represent an element. For its message, `name` names the tensor, `type` is the file's name of the
/// element type, and `advice` says what to do.
template <class To, class Number>
void convert_numbers(std::size_t count, const Number& number, To* destination,
                     const std::string& name, std::string_view type, std::string_view advice,
                     std::size_t begin = 0) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = number(i);
    // The message is only made if it is needed.
    if (!representable<To>(value)) {
      throw unreadable_elements(
          text(name, ": element ", begin + i, ", ", +value, " (", type, "), cannot be stored as ",
               std::floating_point<To> ? "a floating-point number" : "an integer", " of ",
               8 * sizeof(To), " bits; ", advice));
    }
    destination[i] = static_cast<To>(value);  // NOLINT(bugprone-signed-char-misuse): a number
  }
}

}  // namespace glia::detail
