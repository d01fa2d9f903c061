#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/isa/blas.hpp"
#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/cpu/products/product_panel.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/kernels/products.hpp"

namespace glia::cpu_loops {

/// Computes C = A B with glia's own loops. Panels of columns of B are two registers wide. A panel
/// is multiplied by a few rows of A at a time, and the sums stay in registers.
///
/// The order of the sums depends only on the sizes.
template <class T, class Loops>
class dense_product {
 public:
  /// Returns whether these loops compute products of any sizes: there is no BLAS, or these loops
  /// are faster than BLAS, or BLAS is wrong; see blas_check.hpp.
  [[nodiscard]] static bool replaces_blas(const workers& team) {
    return !has_blas || Loops::register_bytes == 64 || !team.blas_fits();
  }
  /// Returns whether these loops are faster than BLAS for products of these sizes. With smaller
  /// registers, they are faster while A stays in a second-level cache, because BLAS packs A and
  /// these loops read it in place.
  [[nodiscard]] static bool preferred(const workers& team, const kernels::matmul_sizes& s) {
    constexpr std::size_t most_bytes = 1 << 20;
    return replaces_blas(team) || s.m * s.k * sizeof(T) <= most_bytes;
  }

  /// Computes the product on the calling thread. Rows of C are c_row elements apart. `packed` is
  /// null or the result of `pack_panels` or `packed_matrix` for B.
  static void multiply_here(const Loops& loops, const matrix<T>& a, const matrix<T>& b, T* c,
                            std::size_t c_row, const kernels::matmul_sizes& s,
                            const T* packed = nullptr) {
    if (s.m == 1 && packed != nullptr) {
      multiply_row(loops, a, packed, c, s, 0, panels_of(s));
      return;
    }
    for (std::size_t row = 0; row < s.m; row += max_block_rows) {
      multiply_block(loops, a, b, packed, c, c_row, s.k,
                     {row, std::min(max_block_rows, s.m - row), 0, s.n});
    }
  }

  /// Computes the product if B has many more rows than columns. It processes `deep_rows` rows of B
  /// at a time, each read and packed once, because the matching block of A fits into a second-level
  /// cache. `packed` has `room_for(s.n)` elements. If `add` is true, the product is added to C.
  static void multiply_deep_here(const Loops& loops, const matrix<T>& a, const matrix<T>& b, T* c,
                                 std::size_t c_row, const kernels::matmul_sizes& s, T* packed,
                                 bool add) {
    for_parts(s.k, deep_rows, [&](std::size_t first, std::size_t depth) {
      for (std::size_t column = 0; column < s.n; column += width) {
        loops.copy_columns(b.data + first * b.row_step + column, b.row_step, depth,
                           std::min(width, s.n - column), packed + column * depth, width);
      }
      for (std::size_t row = 0; row < s.m; row += max_block_rows) {
        for (std::size_t column = 0; column < s.n; column += width) {
          const region area{row, std::min(max_block_rows, s.m - row), column,
                            std::min(width, s.n - column)};
          for_parts(depth, max_depth, [&](std::size_t start, std::size_t part) {
            multiply_tiles(loops, a, first + start, part, packed + column * depth + start * width,
                           width, c, c_row, area, add || first + start > 0);
          });
        }
      }
    });
  }
  [[nodiscard]] static std::size_t room_for(std::size_t columns) {
    return deep_rows * ((columns + width - 1) / width * width);
  }

  static void multiply(const Loops& loops, const workers& team, const memory_pool& memory,
                       const matrix<T>& a, const matrix<T>& b, T* c, const kernels::matmul_sizes& s,
                       const epilogue<T>& last, const T* packed = nullptr) {
    // The product of a single row is limited by the transfer of its weights. Two cores transfer
    // twice as many.
    const std::size_t worth_sharing =
        s.m == 1 && packed != nullptr ? flops_worth_sharing / 4 : flops_worth_sharing;
    if (2 * s.m * s.n * s.k < worth_sharing) {
      multiply_here(loops, a, b, c, s.n, s, packed);
      last.apply(loops, c, s.n, s.m, 0, s.n);
      return;
    }
    const std::size_t panels = panels_of(s);
    if (s.m == 1 && packed != nullptr) {
      // Each thread receives the same panels in each call if possible. They may still be in its
      // cache.
      const std::size_t shares = std::min(team.threads(), panels);
      team.run(shares, [&](std::size_t share, std::size_t) {
        const std::size_t first = share * panels / shares;
        const std::size_t end = (share + 1) * panels / shares;
        multiply_row(loops, a, packed, c, s, first, end);
        last.apply(loops, c, s.n, 1, first * width, std::min(end * width, s.n) - first * width);
      });
      return;
    }
    // All panels of a block of rows are one task, so that A is read once. If there are only a few
    // blocks, their panels are distributed as well.
    const std::size_t least_blocks = (s.m + max_block_rows - 1) / max_block_rows;
    const std::size_t most_blocks = std::min(s.m / min_block_rows, enough_tasks);
    const std::size_t blocks =
        std::max(least_blocks, 2 * most_blocks >= enough_tasks ? most_blocks : 1);
    const std::size_t block_rows = ((s.m + blocks - 1) / blocks + tile - 1) / tile * tile;
    const std::size_t groups =
        2 * blocks >= enough_tasks ? 1 : std::min(enough_tasks / blocks, panels);
    detail::host_tensor<T> owned;
    if (packed == nullptr && blocks > 1 && s.k * s.n * sizeof(T) <= most_packed_bytes) {
      owned = packed_matrix(loops, team, memory, b, s.k, s.n);
      packed = owned.data();
    }
    team.run(blocks * groups, [&](std::size_t task, std::size_t) {
      const std::size_t group = task % groups;
      const std::size_t row = std::min(task / groups * block_rows, s.m);
      const std::size_t column = group * panels / groups * width;
      const std::size_t end = std::min((group + 1) * panels / groups * width, s.n);
      const region area{row, std::min(block_rows, s.m - row), column, end - column};
      multiply_block(loops, a, b, packed, c, s.n, s.k, area);
      last.apply(loops, c + row * s.n, s.n, area.rows, column, area.columns);
    });
  }

 private:
  [[nodiscard]] static std::size_t panels_of(const kernels::matmul_sizes& s) {
    return (s.n + width - 1) / width;
  }
  /// Multiplies a single row by panels first ... end - 1. The sums equal the sums for this row in a
  /// product of several rows.
  static void multiply_row(const Loops& loops, const matrix<T>& a, const T* packed, T* c,
                           const kernels::matmul_sizes& s, std::size_t first, std::size_t end) {
    const std::size_t step = (1 + s.k) * width;
    const std::size_t a_step = a.transposed ? a.row_step : 1;
    const std::size_t whole = std::min(end, s.n / width);
    loops.multiply_row(a.data, a_step, packed + first * step + width, step, s.k, max_depth,
                       whole - first, c + first * width);
    if (whole < end) {  // the last panel, which has fewer columns
      alignas(64) T buffer[width];
      loops.multiply_row(a.data, a_step, packed + whole * step + width, step, s.k, max_depth, 1,
                         buffer);
      std::copy_n(buffer, s.n - whole * width, c + whole * width);
    }
  }

  struct region {
    std::size_t row;
    std::size_t rows;
    std::size_t column;
    std::size_t columns;
  };

  static constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
  static constexpr std::size_t width = Loops::template panel_width<T>;
  static constexpr std::size_t tile = Loops::tile_patches;
  // A smaller product takes less time than the transfer of half of it to a second thread.
  static constexpr std::size_t flops_worth_sharing = 500'000;
  // Number of rows of a panel that take three quarters of a first-level cache of 32 KiB.
  static constexpr std::size_t max_depth = (24 << 10) / (width * sizeof(T));
  static constexpr std::size_t deep_rows = 3 * max_depth;
  // The rows of A in a block stay in a second-level cache, with the panel that they are multiplied
  // by. There are enough of them to make up for the transfer of a panel into the cache, and few
  // enough for an even distribution.
  static constexpr std::size_t max_block_rows = 132;
  static constexpr std::size_t min_block_rows = 60;
  static constexpr std::size_t enough_tasks = 16;
  // A larger B is packed by each task, a panel at a time.
  static constexpr std::size_t most_packed_bytes = 64 << 20;

  /// Computes a block of C. The rows of A stay in a second-level cache while all panels are
  /// multiplied by a part of them.
  static void multiply_block(const Loops& loops, const matrix<T>& a, const matrix<T>& b,
                             const T* packed, T* c, std::size_t c_row, std::size_t k,
                             const region& area) {
    for_parts(k, max_depth, [&](std::size_t first, std::size_t depth) {
      for (std::size_t column = area.column; column < area.column + area.columns; column += width) {
        const std::size_t count = std::min(width, area.column + area.columns - column);
        product_panel<T, Loops, max_depth, width / per_register> panel(
            loops, b, column, count, area.rows,
            packed == nullptr ? nullptr : packed + column * (1 + k));
        multiply_tiles(loops, a, first, depth, panel.rows(first, depth), panel.row_step(), c, c_row,
                       {area.row, area.rows, column, count}, first > 0);
      }
    });
  }

  /// Calls f(first, count) for parts of nearly equal size, at most `max_count` long. Calls it at
  /// least once.
  template <class F>
  static void for_parts(std::size_t n, std::size_t max_count, const F& f) {
    const std::size_t parts = std::max<std::size_t>((n + max_count - 1) / max_count, 1);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t first = part * n / parts;
      f(first, (part + 1) * n / parts - first);
    }
  }

  /// Multiplies rows first ... first + depth - 1 of B, stored at `b` as a panel of whole registers.
  static void multiply_tiles(const Loops& loops, const matrix<T>& a, std::size_t first,
                             std::size_t depth, const T* b, std::size_t b_row, T* c,
                             std::size_t c_row, const region& area, bool add) {
    const std::size_t a_row = a.transposed ? 1 : a.row_step;
    const std::size_t a_step = a.transposed ? a.row_step : 1;
    const std::size_t registers = (area.columns + per_register - 1) / per_register;
    const bool whole = area.columns % per_register == 0;
    alignas(64) T buffer[tile * width];
    const std::size_t tiles = (area.rows + tile - 1) / tile;
    for (std::size_t i = 0; i < tiles; ++i) {
      // Tiles have nearly equal sizes.
      const std::size_t row = area.row + i * area.rows / tiles;
      const std::size_t count = area.row + (i + 1) * area.rows / tiles - row;
      T* const target = c + row * c_row + area.column;
      // The stores of a tile would wait for lines that are not in a cache yet.
      for (std::size_t j = 0; j < count; ++j) {
        for (std::size_t r = 0; r < registers; ++r) {
          __builtin_prefetch(target + j * c_row + r * per_register, 1);
        }
      }
      if (!whole && add) {
        copy_rows(target, c_row, buffer, width, count, area.columns);
      }
      loops.multiply_tile(a.data + row * a_row + first * a_step, a_row, a_step, b, b_row, depth,
                          whole ? target : buffer, whole ? c_row : width, count, registers, add);
      if (!whole) {
        copy_rows(buffer, width, target, c_row, count, area.columns);
      }
    }
  }

  static void copy_rows(const T* source, std::size_t source_step, T* target,
                        std::size_t target_step, std::size_t rows, std::size_t columns) {
    for (std::size_t i = 0; i < rows; ++i) {
      std::copy_n(source + i * source_step, columns, target + i * target_step);
    }
  }
};

}  // namespace glia::cpu_loops
