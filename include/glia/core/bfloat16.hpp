#pragma once

#include <cmath>
#include <cstdint>

#include "glia/core/bit_cast.hpp"

namespace glia::detail {

/// A number in bfloat16 format: the upper half of a single-precision number. It has the same range
/// and 8 significant bits. The first of these bits is implied.
struct bfloat16_number {
  std::uint16_t bits = 0;

  constexpr bfloat16_number() = default;
  /// Rounds to the nearest number. A number halfway between two is rounded to the one whose last
  /// bit is 0. A NaN stays a NaN.
  constexpr explicit bfloat16_number(float x) noexcept {
    const auto word = bit_cast<std::uint32_t>(x);
    constexpr std::uint32_t infinity = 0x7F800000U;
    const bool no_number = (word & 0x7FFFFFFFU) > infinity;
    const std::uint32_t rounded = (word + 0x7FFFU + ((word >> 16U) & 1U)) >> 16U;
    bits = static_cast<std::uint16_t>(no_number ? (word >> 16U) | 0x40U : rounded);
  }
  [[nodiscard]] constexpr float value() const noexcept {
    return bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
};

}  // namespace glia::detail
