#pragma once

#include <cstddef>

namespace glia::cpu_loops {

/// A matrix in memory: its elements, the distance between rows, and whether it is stored
/// transposed.
template <class T>
struct matrix {
  const T* data;
  std::size_t row_step;
  bool transposed = false;

  [[nodiscard]] matrix rows_from(std::size_t first) const {
    return {data + first * (transposed ? 1 : row_step), row_step, transposed};
  }
  [[nodiscard]] matrix columns_from(std::size_t first) const {
    return {data + first * (transposed ? row_step : 1), row_step, transposed};
  }
};

}  // namespace glia::cpu_loops
