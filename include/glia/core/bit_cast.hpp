#pragma once

namespace glia::detail {

/// Converts a value to another type of the same size, bit by bit, like `std::bit_cast`, which
/// libc++ 13 lacks.
template <class To, class From>
[[nodiscard]] constexpr To bit_cast(const From& value) noexcept {
  return __builtin_bit_cast(To, value);
}

}  // namespace glia::detail
