#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/blas.hpp"

namespace glia::cpu_loops {

/// Rows of B for the products of one panel of its columns, whole registers wide: where they are, if
/// they can be read there or `pack_panels` was there before, else in a copy that transposes them or
/// fills them up with zeros.
template <class T, class Loops, std::size_t MaxDepth, std::size_t MaxRegisters>
class product_panel {
 public:
  static constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);

  /// The columns first ... first + count - 1 of b, for so many rows of A: a few are not worth a
  /// copy. `packed` is their panel or null.
  product_panel(const Loops& loops, const matrix<T>& b, std::size_t first, std::size_t count,
                std::size_t a_rows, const T* packed = nullptr)
      : loops_(loops),
        b_(b),
        first_(first),
        count_(count),
        packed_(packed),
        in_place_(
            !b.transposed && count % per_register == 0 &&
            (a_rows < worth_a_copy || (b.row_step % per_register == 0 && !competes(b.row_step)))) {}

  [[nodiscard]] std::size_t registers() const { return (count_ + per_register - 1) / per_register; }
  [[nodiscard]] std::size_t row_step() const {
    if (packed_ != nullptr) {
      return MaxRegisters * per_register;
    }
    return in_place_ ? b_.row_step : registers() * per_register;
  }

  /// The rows from `row` on, at most MaxDepth.
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
  // Rows of A from which on it pays off to copy rows that are not aligned, or compete.
  static constexpr std::size_t worth_a_copy = 8;

  /// Whether rows so far apart compete for the same cache sets.
  static bool competes(std::size_t row_step) { return row_step * sizeof(T) % 1024 == 0; }

  Loops loops_;
  matrix<T> b_;
  std::size_t first_;
  std::size_t count_;
  const T* packed_;
  bool in_place_;
  alignas(64) T copy_[MaxDepth * MaxRegisters * per_register];
};

}  // namespace glia::cpu_loops
