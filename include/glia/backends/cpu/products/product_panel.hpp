#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/products/matrix.hpp"

namespace glia::cpu_loops {

/// Rows of B for the products with one panel of its columns, in whole registers. The rows are read
/// from panels of `pack_panels`, in place, or from a copy that is transposed or padded with zeros.
template <class T, class Loops, std::size_t MaxDepth, std::size_t MaxRegisters>
class product_panel {
 public:
  static constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);

  /// Takes the columns first ... first + count - 1 of b. `packed` is the panel of these columns or
  /// null. `worth_a_copy` is whether a copy pays off where the rows could be read in place.
  product_panel(const Loops& loops, const matrix<T>& b, std::size_t first, std::size_t count,
                bool worth_a_copy, const T* packed = nullptr)
      : loops_(loops),
        b_(b),
        first_(first),
        count_(count),
        packed_(packed),
        in_place_(!b.transposed && count % per_register == 0 && !worth_a_copy) {}

  [[nodiscard]] std::size_t registers() const { return (count_ + per_register - 1) / per_register; }
  [[nodiscard]] std::size_t row_step() const {
    if (packed_ != nullptr) {
      return MaxRegisters * per_register;
    }
    return in_place_ ? b_.row_step : registers() * per_register;
  }

  /// Returns the rows from `row` on, at most MaxDepth rows.
  [[nodiscard]] const T* rows(std::size_t row, std::size_t depth) {
    if (packed_ != nullptr) {
      return packed_ + (1 + row) * row_step();  // behind the biases
    }
    if (in_place_) {
      return b_.data + row * b_.row_step + first_;
    }
    if (b_.transposed) {
      if (count_ < row_step()) {
        std::fill_n(copy_, depth * row_step(), T{0});
      }
      loops_.transpose_matrix(b_.data + first_ * b_.row_step + row, b_.row_step, copy_, row_step(),
                              count_, depth);
    } else {
      loops_.copy_columns(b_.data + row * b_.row_step + first_, b_.row_step, depth, count_, copy_,
                          row_step());
    }
    return copy_;
  }

 private:
  Loops loops_;
  matrix<T> b_;
  std::size_t first_;
  std::size_t count_;
  const T* packed_;
  bool in_place_;
  alignas(64) T copy_[MaxDepth * MaxRegisters * per_register];
};

}  // namespace glia::cpu_loops
