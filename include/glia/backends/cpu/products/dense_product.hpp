#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/isa/blas.hpp"
#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/cpu/products/product_panel.hpp"
#include "glia/backends/cpu/products/product_tiles.hpp"
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
      multiply_block(loops, a, b, packed, c, c_row, s.k, max_depth,
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
            multiply_tiles(loops, in_place(a, row, first + start), part,
                           packed + column * depth + start * width, width, c, c_row, area,
                           add || first + start > 0);
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
    multiply_blocks(loops, team, memory, a, b, c, s, last, packed);
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

  /// Computes a product in blocks of rows and slabs of columns. All panels of a block of rows are
  /// one task, so that A is read once. If there are only a few blocks, their panels are distributed
  /// as well. The slabs stay in a cache until all blocks have read them.
  static void multiply_blocks(const Loops& loops, const workers& team, const memory_pool& memory,
                              const matrix<T>& a, const matrix<T>& b, T* c,
                              const kernels::matmul_sizes& s, const epilogue<T>& last,
                              const T* packed) {
    const std::size_t panels = panels_of(s);
    const row_blocks blocks(s.m, tile);
    // The rows of such a transposed A compete for a few cache sets. With small registers, copying
    // blocks of them costs less than reading them from slower caches.
    const bool competes = a.transposed && a.row_step * sizeof(T) >= 4 << 10;
    const bool copies = competes && Loops::register_bytes < 64 && s.n > 2 * width;
    const std::size_t depth = competes && !copies ? max_depth / 2 : max_depth;
    const std::size_t slabs =
        blocks.count > 1 ? product_slabs(panels, (1 + s.k) * width * sizeof(T)) : 1;
    const std::size_t copy_size = copies ? blocks.rows / tile * per_tile * std::min(depth, s.k) : 0;
    const detail::host_tensor<T> copy(memory, {team.threads(), copy_size});
    const bool in_groups = packed == nullptr && blocks.count == 1 && copies_groups(b, s);
    const std::size_t group_size =
        in_groups ? panel_group<Loops> * width * std::min(max_depth, s.k) : 0;
    const detail::host_tensor<T> panel_memory(memory, {team.threads(), group_size});
    for (std::size_t slab = 0; slab < slabs; ++slab) {
      const std::size_t first = slab * panels / slabs;
      const std::size_t count = (slab + 1) * panels / slabs - first;
      const std::size_t origin = first * width;
      const std::size_t columns = std::min(count * width, s.n - origin);
      const matrix<T> right = b.columns_from(origin);
      detail::host_tensor<T> owned;
      const T* slab_packed = packed == nullptr ? nullptr : packed + origin * (1 + s.k);
      if (packed == nullptr && blocks.count > 1) {
        owned = packed_matrix(loops, team, memory, right, s.k, columns);
        slab_packed = owned.data();
      }
      const std::size_t unit = packed == nullptr && multiplies_pieces(b, s.m) ? piece : width;
      const std::size_t units = (columns + unit - 1) / unit;
      const std::size_t groups = blocks.groups(units);
      team.run(blocks.count * groups, [&](std::size_t task, std::size_t thread) {
        const std::size_t group = task % groups;
        const std::size_t row = task / groups * blocks.rows;
        if (row >= s.m) {  // rounded to tiles, the blocks before it hold all rows
          return;
        }
        const std::size_t column = group * units / groups * unit;
        const std::size_t end = std::min((group + 1) * units / groups * unit, columns);
        const region area{row, std::min(blocks.rows, s.m - row), column, end - column};
        if (in_groups) {
          multiply_in_groups(loops, a, b, c, s, area, panel_memory.data() + thread * group_size);
        } else {
          multiply_block(loops, a, right, slab_packed, c + origin, s.n, s.k, depth, area,
                         copies ? copy.data() + thread * copy_size : nullptr);
        }
        last.apply(loops, c + row * s.n, s.n, area.rows, origin + column, area.columns);
      });
    }
  }

  using region = product_region;
  using rows_of_a = rows_of_factor<T>;

  static constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
  static constexpr std::size_t width = Loops::template panel_width<T>;
  static constexpr std::size_t tile = Loops::tile_patches;
  // A tile's elements of one row of a transposed A, in whole registers.
  static constexpr std::size_t per_tile = (tile + per_register - 1) / per_register * per_register;
  // Number of rows of a panel that are multiplied at a time. With small registers, they take three
  // quarters of a first-level cache of 32 KiB. With AVX-512, a panel may be as large as this cache,
  // because a second-level cache is fast enough, and longer sums load and store C less often.
  static constexpr std::size_t max_depth =
      (Loops::register_bytes == 64 ? 32 << 10 : 24 << 10) / (width * sizeof(T));
  static constexpr std::size_t deep_rows = (72 << 10) / (width * sizeof(T));
  static constexpr std::size_t max_block_rows = row_blocks::max_rows;
  static constexpr std::size_t piece = Loops::template piece_width<T>;

  /// Computes a block of C. The rows of A stay in a second-level cache while all panels are
  /// multiplied by a part of them.
  static void multiply_block(const Loops& loops, const matrix<T>& a, const matrix<T>& b,
                             const T* packed, T* c, std::size_t c_row, std::size_t k,
                             std::size_t most_depth, const region& area, T* copy = nullptr) {
    const bool in_pieces = packed == nullptr && multiplies_pieces(b, area.rows);
    // Columns after this one are multiplied as panels.
    const std::size_t whole = in_pieces ? area.columns / piece * piece : 0;
    for_parts(k, most_depth, [&](std::size_t first, std::size_t depth) {
      const rows_of_a left = copy == nullptr ? in_place(a, area.row, first)
                                             : copied(loops, a, area, first, depth, copy);
      if (whole > 0) {
        loops.multiply_pieces(left.data, left.row_step, left.step,
                              b.data + first * b.row_step + area.column, b.row_step, depth,
                              c + area.row * c_row + area.column, c_row, area.rows, whole,
                              first > 0);
      }
      const std::size_t end = area.column + area.columns;
      for (std::size_t column = area.column + whole; column < end; column += width) {
        const std::size_t count = std::min(width, end - column);
        product_panel<T, Loops, max_depth, width / per_register> panel(
            loops, b, column, count, copies_panel(b, area.rows),
            packed == nullptr ? nullptr : packed + column * (1 + k));
        multiply_tiles(loops, left, depth, panel.rows(first, depth), panel.row_step(), c, c_row,
                       {area.row, area.rows, column, count}, first > 0);
      }
    });
  }

  /// Computes a block of C, the same sums as `multiply_block`, but copies panel_group panels of B
  /// together to `panels`.
  static void multiply_in_groups(const Loops& loops, const matrix<T>& a, const matrix<T>& b, T* c,
                                 const kernels::matmul_sizes& s, const region& area, T* panels) {
    constexpr std::size_t group_width = panel_group<Loops> * width;
    const std::size_t end = area.column + area.columns;
    for_parts(s.k, max_depth, [&](std::size_t first, std::size_t depth) {
      const rows_of_a left = in_place(a, area.row, first);
      for (std::size_t group = area.column; group < end; group += group_width) {
        const std::size_t group_end = std::min(group + group_width, end);
        copy_panels(loops, b.data + first * b.row_step + group, b.row_step, depth,
                    group_end - group, panels, depth * width);
        const T* panel = panels;
        for (std::size_t column = group; column < group_end; column += width) {
          multiply_tiles(loops, left, depth, panel, width, c, s.n,
                         {area.row, area.rows, column, std::min(width, group_end - column)},
                         first > 0);
          panel += depth * width;
        }
      }
    });
  }

  /// Returns whether panels of B are copied in groups: a B that is not in a second-level cache, for
  /// so many rows of A that the copy pays off. If B is not in a third-level cache either, a few
  /// rows are enough.
  static bool copies_groups(const matrix<T>& b, const kernels::matmul_sizes& s) {
    const std::size_t bytes = s.k * s.n * sizeof(T);
    const std::size_t min_rows = bytes >= 8 << 20 ? 3 : has_wide_rows(b) ? 8 : 32;
    return panel_group<Loops> > 1 && !b.transposed && bytes >= 3 << 19 && s.m >= min_rows;
  }

  /// Returns whether a panel of B is copied before so many rows of A are multiplied by it. Rows of
  /// B that are not wide come from a second-level cache in time. With AVX2, rows that are not
  /// aligned are copied, too, because half of the loads would touch two cache lines.
  static bool copies_panel(const matrix<T>& b, std::size_t rows) {
    if (has_wide_rows(b)) {
      return rows >= (Loops::register_bytes == 64 ? 48 : 24);
    }
    return Loops::register_bytes == 32 && b.row_step % per_register != 0 && rows >= 64;
  }

  /// Returns whether each row of a panel of B is on another page. Such rows also compete for a few
  /// cache sets.
  static bool has_wide_rows(const matrix<T>& b) { return b.row_step * sizeof(T) >= 8 << 10; }

  /// Returns whether this number of rows is multiplied by pieces of rows of B instead of panels.
  static bool multiplies_pieces(const matrix<T>& b, std::size_t rows) {
    constexpr std::size_t most_rows = Loops::register_bytes == 64 ? 8 : 2;
    return !b.transposed && rows <= (has_wide_rows(b) ? most_rows : Loops::piece_rows);
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

  static rows_of_a in_place(const matrix<T>& a, std::size_t row, std::size_t first) {
    const std::size_t row_step = a.transposed ? 1 : a.row_step;
    const std::size_t step = a.transposed ? a.row_step : 1;
    return {a.data + row * row_step + first * step, row_step, step};
  }
  /// Copies the rows of a transposed A, each tile to contiguous memory.
  static rows_of_a copied(const Loops& loops, const matrix<T>& a, const region& area,
                          std::size_t first, std::size_t depth, T* copy) {
    const T* source = a.data + first * a.row_step + area.row;
    const product_tiles<Loops> tiles(area.rows);
    for (std::size_t i = 0; i < tiles.count; source += tiles.rows(i), ++i) {
      loops.copy_columns(source, a.row_step, depth, tiles.rows(i), copy + i * depth * per_tile,
                         per_tile);
    }
    return {copy, 1, per_tile, depth * per_tile};
  }
};

}  // namespace glia::cpu_loops
