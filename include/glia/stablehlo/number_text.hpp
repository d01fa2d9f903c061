#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "glia/core/little_endian.hpp"
#include "glia/stablehlo/value.hpp"

namespace glia::stablehlo {

/// Formats a number of a type so that it can be read back exactly.
[[nodiscard]] inline std::string literal(double number, scalar type) {
  if (!is_real(type)) {
    return type == scalar::i1 ? (number != 0 ? "true" : "false")
                              : std::to_string(static_cast<std::int64_t>(number));
  }
  const double exact =
      type == scalar::f32 ? static_cast<double>(static_cast<float>(number)) : number;
  if (!std::isfinite(exact)) {
    const bool negative = std::signbit(exact);
    if (std::isnan(exact)) {
      return type == scalar::f32 ? "0x7FC00000" : "0x7FF8000000000000";
    }
    return type == scalar::f32 ? (negative ? "0xFF800000" : "0x7F800000")
                               : (negative ? "0xFFF0000000000000" : "0x7FF0000000000000");
  }
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), exact,
                                 std::chars_format::scientific, 17)
                       .ptr;
  return {buffer.data(), end};
}

/// Formats the elements of a tensor as the hexadecimal digits of their bytes.
template <class Number>
[[nodiscard]] std::string bytes_text(std::span<const Number> values, scalar type) {
  std::string result;
  const auto append = [&](auto exact) {
    const auto bytes =
        glia::detail::load_little_endian<std::array<unsigned char, sizeof(exact)>>(&exact);
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (const unsigned char byte : bytes) {
      result += digits[byte / 16];
      result += digits[byte % 16];
    }
  };
  for (const Number number : values) {
    switch (type) {
      case scalar::f32:
        append(static_cast<float>(number));
        break;
      case scalar::f64:
        append(static_cast<double>(number));
        break;
      case scalar::i32:
        append(static_cast<std::int32_t>(number));
        break;
      case scalar::u32:
        append(static_cast<std::uint32_t>(number));
        break;
      case scalar::u64:
        append(static_cast<std::uint64_t>(number));
        break;
      default:
        append(static_cast<std::uint8_t>(number));
    }
  }
  return result;
}

}  // namespace glia::stablehlo
