#pragma once

#include <cstdint>
#include <limits>

#include "glia/kernels/elementwise.hpp"

namespace glia::cpu_loops {

/// The range low ... high to which an activation limits its operand (see `glia::clamps`). Results
/// <= cut_low and results >= cut_high have no gradient. For these results, the position of a pooled
/// maximum is `cut`.
template <class T>
struct clamp_range {
  static constexpr std::uint8_t cut = 255;
  static constexpr T nothing =
      std::numeric_limits<T>::quiet_NaN();  // every comparison with it is false

  T low = -std::numeric_limits<T>::infinity();
  T high = std::numeric_limits<T>::infinity();
  T cut_low = nothing;
  T cut_high = nothing;

  clamp_range() = default;
  explicit clamp_range(const unary_map& map) {
    if (map.function == unary_function::relu || map.function == unary_function::relu6) {
      low = cut_low = 0;
    }
    if (map.function == unary_function::relu6) {
      high = cut_high = 6;
    }
  }
};

}  // namespace glia::cpu_loops
