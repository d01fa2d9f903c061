#pragma once

#include <cerrno>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <system_error>

#include "glia/core/platform/plain_number.hpp"

namespace glia::detail {

/// Parses a floating-point number like `std::from_chars`, by means of strtod. libc++ 19 has
/// `std::from_chars` only for integers.
template <std::floating_point T>
[[nodiscard]] std::from_chars_result parse_number_by_strtod(const char* first, const char* last,
                                                            T& value) {
  // strtod also accepts leading spaces, a plus sign and hexadecimal digits.
  const char* const digits = first != last && *first == '-' ? first + 1 : first;
  const auto begins = [&](const char* characters) {
    return digits != last && std::string_view(characters).find(*digits) != std::string_view::npos;
  };
  if (!begins("0123456789.iInN")) {
    return {first, std::errc::invalid_argument};
  }
  if (begins("0") && last - digits > 1 && (digits[1] == 'x' || digits[1] == 'X')) {
    last = digits + 1;
  }
  const std::string text(first, last);
  char* end = nullptr;
  const int saved_errno = errno;
  errno = 0;
  const T number = platform::plain_number<T>(text.c_str(), &end);
  const bool out_of_range = errno == ERANGE && (std::isinf(number) || number == 0);
  errno = saved_errno;
  if (end == text.c_str()) {
    return {first, std::errc::invalid_argument};
  }
  const char* const parsed_end = first + (end - text.c_str());
  if (out_of_range) {
    return {parsed_end, std::errc::result_out_of_range};
  }
  value = number;
  return {parsed_end, std::errc()};
}

/// Parses a floating-point number like `std::from_chars`, with any C++ library.
template <std::floating_point T>
[[nodiscard]] std::from_chars_result parse_number(const char* first, const char* last, T& value) {
#ifdef __cpp_lib_to_chars
  return std::from_chars(first, last, value);
#else
  return parse_number_by_strtod(first, last, value);
#endif
}

}  // namespace glia::detail
