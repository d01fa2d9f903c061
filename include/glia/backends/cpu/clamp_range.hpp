#pragma once

#include <cstdint>
#include <limits>

#include "glia/backends/kernel_arguments.hpp"

namespace glia::cpu_loops {

/// What an activation that clamps (see `glia::clamps`) leaves of its operand: low ... high.
template <class T>
struct clamp_range {
  /// Stands for the position of a pooled maximum that the clamp leaves without a gradient.
  static constexpr std::uint8_t cut = 255;

  T low = -std::numeric_limits<T>::infinity();
  T high = std::numeric_limits<T>::infinity();

  clamp_range() = default;
  explicit clamp_range(const unary_map& map) {
    if (map.function == unary_function::relu || map.function == unary_function::relu6) {
      low = 0;
    }
    if (map.function == unary_function::relu6) {
      high = 6;
    }
  }
};

}  // namespace glia::cpu_loops
