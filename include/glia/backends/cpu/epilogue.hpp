#pragma once

#include <cstddef>

#include "glia/kernels/elementwise.hpp"

namespace glia::cpu_loops {

/// What happens to a block of a product's result while it is still in the cache: a bias is added to
/// every row and a map applied.
template <class T>
struct epilogue {
  const T* bias = nullptr;  ///< one value per column, or none
  unary_map map = identity_map;

  [[nodiscard]] bool empty() const { return bias == nullptr && map == identity_map; }

  /// For `rows` rows of `columns` elements from column `column` on, `step` apart.
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
