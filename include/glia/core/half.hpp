#pragma once

#include <cstdint>

#include "glia/core/bit_cast.hpp"

namespace glia {

/// A number in half precision (IEEE 754 binary16), as files store it: 1 sign bit, 5 exponent bits
/// and 10 fraction bits.
struct half {
  std::uint16_t bits = 0;

  /// Returns the number in single precision, which represents it exactly.
  [[nodiscard]] constexpr float value() const noexcept {
    constexpr std::uint32_t infinity_or_nan = 0x1F;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
    const std::uint32_t exponent = (bits >> 10U) & infinity_or_nan;
    const std::uint32_t fraction = bits & 0x3FFU;
    if (exponent == 0) {  // zero and denormal numbers
      const float small = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -small : small;
    }
    constexpr std::uint32_t rebias = 127 - 15;
    const std::uint32_t widened = exponent == infinity_or_nan ? 0xFF : exponent + rebias;
    return detail::bit_cast<float>(sign | widened << 23U | fraction << 13U);
  }
};

}  // namespace glia
