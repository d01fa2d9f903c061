#pragma once

#include <cstddef>

#include "glia/kernels/elementwise.hpp"

namespace glia::cpu_loops {

/// The last step of a product, for a block of the result that is still in the cache: adds a bias to
/// every row and applies an activation.
template <class T>
struct epilogue {
  const T* bias = nullptr;  ///< One value per column, or null.
  unary_map map = kernels::identity_map;

  [[nodiscard]] bool empty() const { return bias == nullptr && map == kernels::identity_map; }

  /// Processes `rows` rows of `columns` elements, from column `column` on. Rows are `step` elements
  /// apart.
  template <class Loops>
  void apply(const Loops& loops, T* y, std::size_t step, std::size_t rows, std::size_t column,
             std::size_t columns) const {
    if (empty()) {
      return;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      loops.bias_unary(map, bias == nullptr ? nullptr : bias + column, y + row * step + column,
                       columns);
    }
  }
};

}  // namespace glia::cpu_loops
