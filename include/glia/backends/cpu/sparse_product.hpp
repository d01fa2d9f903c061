#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/blas.hpp"
#include "glia/backends/cpu/density.hpp"
#include "glia/backends/cpu/epilogue.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/shape_rules.hpp"

namespace glia::cpu_loops {

/// C = A B where many elements of A are zero, as they are after a ReLU, in its gradients, and in
/// images on a black ground. The nonzeros of A are listed once; then every row of C is a sum of the
/// rows of B that its list names, panel of columns by panel of columns, so that the panel is in the
/// first-level cache and the sums are in registers.
///
/// The order of the sums depends on the positions of the nonzeros alone, not on the threads.
template <class T>
class sparse_product {
 public:
  /// Below this share of nonzeros listing them pays off against a dense product; measured at
  /// products of 100 x 784 x 400.
  static constexpr double worthwhile_density = 0.5;

  /// Whether A, stored as it is, is worth the lists. Products too small for panels are not.
  static bool worthwhile(const workers& team, const T* a, const matmul_sizes& s) {
    if (s.m < 16 || s.n < 2 * lanes || s.k < 16) {
      return false;
    }
    return density(team, a, s.m * s.k) < worthwhile_density;
  }

  static void multiply(const workers& team, const memory_pool& memory, const matrix<T>& a,
                       const matrix<T>& b, T* c, const matmul_sizes& s, const epilogue<T>& last) {
    const depths depth(s.k);
    const host_tensor<nonzero<T>> entries(memory, {depth.blocks * s.m, depth.size});
    const host_tensor<std::uint32_t> counts(memory, {depth.blocks, s.m});
    const row_lists lists{depth, s.m, entries.data(), counts.data()};
    list(team, a, lists);

    const panels cut{(s.n + lanes - 1) / lanes};
    const std::size_t least_blocks = (s.m + max_block_rows - 1) / max_block_rows;
    // Tasks that pack nothing may as well be small, which shares them out more evenly.
    const std::size_t row_blocks =
        readable_in_place(b) && s.m >= 64 ? std::max<std::size_t>(least_blocks, 2) : least_blocks;
    team.for_each(cut.count() * row_blocks, [&](auto kernels, std::size_t task) {
      const std::size_t panel = task / row_blocks;
      const std::size_t block = task % row_blocks;
      const std::size_t row = block * s.m / row_blocks;
      const std::size_t column = cut.column(panel);
      const std::size_t width = cut.column(panel + 1) - column;
      const region where{row, (block + 1) * s.m / row_blocks - row, column,
                         std::min(width, s.n - column), width};
      multiply_block(kernels, lists, b, c, s.n, where);
      last.apply(kernels, c + where.row * s.n, s.n, where.rows, where.column, where.columns);
    });
  }

 private:
  static constexpr std::size_t lanes = vector_bytes / sizeof(T);
  static constexpr std::size_t max_vectors = max_accumulators;
  // Enough rows to make up for bringing a panel into the cache, few enough to share out evenly.
  static constexpr std::size_t max_block_rows = 256;

  /// The columns of C and B cut into panels of at most max_vectors vectors, as equal as can be.
  struct panels {
    std::size_t vectors;
    [[nodiscard]] std::size_t count() const { return (vectors + max_vectors - 1) / max_vectors; }
    [[nodiscard]] std::size_t column(std::size_t panel) const {
      return panel * vectors / count() * lanes;
    }
  };

  /// The inner extent cut into equal blocks. A panel of one block's rows and max_vectors vectors
  /// takes 26 KiB of a first-level cache of 32.
  struct depths {
    static constexpr std::size_t max_size = 104;
    explicit depths(std::size_t k)
        : extent(k), blocks((k + max_size - 1) / max_size), size((k + blocks - 1) / blocks) {}
    [[nodiscard]] std::size_t rows(std::size_t block) const {
      return std::min(size, extent - block * size);
    }
    std::size_t extent;
    std::size_t blocks;
    std::size_t size;
  };

  struct region {
    std::size_t row;
    std::size_t rows;
    std::size_t column;
    std::size_t columns;
    std::size_t width;  // columns and the padding to whole vectors
  };

  /// A list of A's nonzeros for each depth block and each row.
  struct row_lists {
    depths depth;
    std::size_t rows;
    nonzero<T>* entries;
    std::uint32_t* counts;
    [[nodiscard]] nonzero<T>* list(std::size_t block, std::size_t row) const {
      return entries + (block * rows + row) * depth.size;
    }
    [[nodiscard]] std::uint32_t& count(std::size_t block, std::size_t row) const {
      return counts[block * rows + row];
    }
  };

  static void list(const workers& team, const matrix<T>& a, const row_lists& lists) {
    const depths& depth = lists.depth;
    team.for_blocks(lists.rows, 8, [&](auto kernels, std::size_t row, std::size_t rows) {
      for (std::size_t block = 0; block < depth.blocks; ++block) {
        const std::size_t first = block * depth.size;
        const std::size_t length = depth.rows(block);
        std::size_t i = row;
        for (; a.transposed && i + 8 <= row + rows; i += 8) {
          std::size_t eight[8];
          kernels.list_nonzeros_of_columns(a.data + first * a.row_step + i, a.row_step, length,
                                           lists.list(block, i), depth.size, eight);
          for (std::size_t j = 0; j < 8; ++j) {
            lists.count(block, i + j) = static_cast<std::uint32_t>(eight[j]);
          }
        }
        for (; i < row + rows; ++i) {
          T column[depths::max_size];
          const T* from = a.data + i * a.row_step + first;
          if (a.transposed) {
            from = column;
            for (std::size_t k = 0; k < length; ++k) {
              column[k] = a.data[(first + k) * a.row_step + i];
            }
          }
          lists.count(block, i) =
              static_cast<std::uint32_t>(kernels.list_nonzeros(from, length, lists.list(block, i)));
        }
      }
    });
  }

  /// The sums of one block of rows of C in one panel.
  template <class Kernels>
  static void multiply_block(const Kernels& kernels, const row_lists& lists, const matrix<T>& b,
                             T* c, std::size_t c_step, const region& where) {
    const depths& depth = lists.depth;
    const bool whole = where.columns == where.width;
    const bool in_place = whole && readable_in_place(b);
    alignas(vector_bytes) T packed[depths::max_size * max_vectors * lanes];
    alignas(vector_bytes) T padded[max_block_rows * max_vectors * lanes];
    T* const to = whole ? c + where.row * c_step + where.column : padded;
    const std::size_t to_step = whole ? c_step : where.width;
    for (std::size_t block = 0; block < depth.blocks; ++block) {
      const std::size_t first = block * depth.size;
      if (!in_place) {
        pack(kernels, b, where, first, depth.rows(block), packed);
      }
      kernels.multiply_nonzeros(nonzero_lists<T>{lists.list(block, where.row), depth.size,
                                                 &lists.count(block, where.row), where.rows},
                                in_place ? b.data + first * b.row_step + where.column : packed,
                                in_place ? b.row_step : where.width, to, to_step,
                                where.width / lanes, block > 0);
    }
    for (std::size_t i = 0; !whole && i < where.rows; ++i) {
      std::copy_n(padded + i * where.width, where.columns,
                  c + (where.row + i) * c_step + where.column);
    }
  }

  /// Whether the rows of B can be read where they are: aligned to vectors, and not at a distance
  /// that makes them compete for the same cache sets.
  static bool readable_in_place(const matrix<T>& b) {
    return !b.transposed && b.row_step % lanes == 0 && b.row_step * sizeof(T) % 1024 != 0;
  }

  /// Copies a depth block of a panel of B to contiguous rows, the last vector padded with zeros.
  template <class Kernels>
  static void pack(const Kernels& kernels, const matrix<T>& b, const region& where,
                   std::size_t first, std::size_t rows, T* to) {
    if (where.columns < where.width) {
      std::fill_n(to, rows * where.width, T{0});
    }
    if (b.transposed) {
      kernels.transpose_matrix(b.data + where.column * b.row_step + first, b.row_step, to,
                               where.width, where.columns, rows);
      return;
    }
    for (std::size_t k = 0; k < rows; ++k) {
      std::copy_n(b.data + (first + k) * b.row_step + where.column, where.columns,
                  to + k * where.width);
    }
  }
};

}  // namespace glia::cpu_loops
