#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/long_sum.hpp"

namespace glia::cpu_loops {

/// Some rows of a matrix, which are `step` elements apart.
template <class T>
struct strided_rows {
  T* data;
  std::size_t step;

  [[nodiscard]] T* row(std::size_t i) const { return data + i * step; }
};

/// The small matrix products of one head. Their second factors are packed into panels of
/// `panel_width` columns, each of `depth` consecutive rows of whole registers.
template <class T, class Loops>
class head_products {
 public:
  static constexpr std::size_t width = Loops::template panel_width<T>;
  static constexpr std::size_t tile_rows = Loops::tile_patches;

  head_products(const Loops& loops, const workers& team) : loops_(loops), team_(&team) {}

  /// Returns the number of columns in whole panels.
  [[nodiscard]] static constexpr std::size_t padded(std::size_t columns) {
    return (columns + width - 1) / width * width;
  }

  /// Returns a distance between rows of so many columns. Rows that are a multiple of 4 KiB apart
  /// would compete for places in a cache.
  [[nodiscard]] static constexpr std::size_t row_step(std::size_t columns) {
    return columns + width / 2;
  }

  /// Packs a matrix (depth, columns) into depth * padded(columns) elements.
  void pack(const strided_rows<T>& x, std::size_t depth, std::size_t columns, T* target) const {
    if (const rounded_loops<T>* const rounded = team_->rounded<T>()) {
      rounded->pack({x.data, x.step}, depth, columns, target, depth * width);
      return;
    }
    for (std::size_t first = 0; first < columns; first += width, target += depth * width) {
      loops_.copy_columns(x.data + first, x.step, depth, std::min(width, columns - first), target,
                          width);
    }
  }
  /// Packs the transpose of a matrix (columns, depth).
  void pack_transposed(const strided_rows<T>& x, std::size_t depth, std::size_t columns,
                       T* target) const {
    if (const rounded_loops<T>* const rounded = team_->rounded<T>()) {
      rounded->pack({x.data, x.step, true}, depth, columns, target, depth * width);
      return;
    }
    for (std::size_t first = 0; first < columns; first += width, target += depth * width) {
      const std::size_t count = std::min(width, columns - first);
      if (count < width) {
        std::fill_n(target, depth * width, T{0});
      }
      loops_.transpose_matrix(x.row(first), x.step, target, width, count, depth);
    }
  }

  /// Computes C (rows, padded(columns)) = or += A B, for at most `tile_rows` rows of A. B has
  /// `packed_depth` rows in each panel, of which the first `depth` are used.
  void multiply(const matrix<T>& a, const T* b, std::size_t packed_depth, std::size_t depth,
                std::size_t columns, std::size_t rows, const strided_rows<T>& c, bool add) const {
    if (const rounded_loops<T>* const rounded = team_->rounded<T>()) {
      multiply_words(*rounded, a, b, packed_depth, {rows, columns, depth}, c, add);
      return;
    }
    const std::size_t a_row = a.transposed ? 1 : a.row_step;
    const std::size_t a_step = a.transposed ? a.row_step : 1;
    for (std::size_t first = 0; first < columns; first += width, b += packed_depth * width) {
      const std::size_t registers = 2 * (columns - first) <= width ? 1 : 2;
      std::size_t done = 0;
      do {
        const std::size_t count = std::min(depth - done, detail::product_chain);
        loops_.multiply_tile(a.data + done * a_step, a_row, a_step, b + done * width, width, count,
                             c.data + first, c.step, rows, registers, add || done > 0);
        done += count;
      } while (done < depth);
    }
  }

 private:
  // A separate function, because its array would be in the frame of all products.
  [[gnu::noinline]] static void multiply_words(const rounded_loops<T>& rounded, const matrix<T>& a,
                                               const T* b, std::size_t packed_depth,
                                               const kernels::matmul_sizes& s,
                                               const strided_rows<T>& c, bool add) {
    alignas(64) T words[detail::product_chain * padded(tile_rows)];
    rounded.multiply_packed(a, b, packed_depth * width, c.data, c.step, s, words, add);
  }

  Loops loops_;
  const workers* team_;
};

}  // namespace glia::cpu_loops
