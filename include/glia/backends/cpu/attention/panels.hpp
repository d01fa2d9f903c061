#pragma once

#include <algorithm>
#include <cstddef>

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
struct panels {
  static constexpr std::size_t width = Loops::template panel_width<T>;
  static constexpr std::size_t tile_rows = Loops::tile_patches;

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
  static void pack(const Loops& loops, const strided_rows<T>& x, std::size_t depth,
                   std::size_t columns, T* target) {
    for (std::size_t first = 0; first < columns; first += width, target += depth * width) {
      loops.copy_columns(x.data + first, x.step, depth, std::min(width, columns - first), target,
                         width);
    }
  }
  /// Packs the transpose of a matrix (columns, depth).
  static void pack_transposed(const Loops& loops, const strided_rows<T>& x, std::size_t depth,
                              std::size_t columns, T* target) {
    for (std::size_t first = 0; first < columns; first += width, target += depth * width) {
      const std::size_t count = std::min(width, columns - first);
      if (count < width) {
        std::fill_n(target, depth * width, T{0});
      }
      loops.transpose_matrix(x.row(first), x.step, target, width, count, depth);
    }
  }

  /// Computes C (rows, padded(columns)) = or += A B, for at most `tile_rows` rows. Row i of A
  /// begins at a + i a_row, and its elements are a_step apart. B has `packed_depth` rows in each
  /// panel, of which the first `depth` are used.
  static void multiply(const Loops& loops, const T* a, std::size_t a_row, std::size_t a_step,
                       const T* b, std::size_t packed_depth, std::size_t depth, std::size_t columns,
                       std::size_t rows, const strided_rows<T>& c, bool add) {
    for (std::size_t first = 0; first < columns; first += width, b += packed_depth * width) {
      const std::size_t registers = 2 * (columns - first) <= width ? 1 : 2;
      std::size_t done = 0;
      do {
        const std::size_t count = std::min(depth - done, detail::product_chain);
        loops.multiply_tile(a + done * a_step, a_row, a_step, b + done * width, width, count,
                            c.data + first, c.step, rows, registers, add || done > 0);
        done += count;
      } while (done < depth);
    }
  }
};

}  // namespace glia::cpu_loops
