#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/product_tiles.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/core/flush_denormals.hpp"
#include "glia/kernels/products.hpp"

namespace glia::cpu_loops {

/// Computes C = A B with factors rounded to bfloat16 and sums in single precision. Both factors are
/// packed as words; see loops/rounding.inl. The products of `part` consecutive factors are added
/// one after the other, and then the sums of these parts; in tiles, as tile registers do. This
/// order is the same for all sizes, numbers of threads and instruction sets.
template <class Loops>
class rounded_product {
 public:
  using sizes = kernels::matmul_sizes;
  using left_rows = rows_of_factor<float>;

  static constexpr std::size_t part = detail::product_chain;
  static constexpr std::size_t width = Loops::template panel_width<float>;
  // Tile registers are so fast that a slab should stay in a second-level cache.
  static constexpr std::size_t slab_bytes = (Loops::in_tiles ? 1 : 2) << 20;
  // Blocks of rows are whole tiles, for which left_size has room.
  static_assert((row_blocks::max_rows + Loops::tile_patches - 1) / Loops::tile_patches *
                    Loops::tile_patches <=
                (row_blocks::max_rows + width - 1) / width * width);

  /// Returns the number of words for `depth` factors of a row or column.
  [[nodiscard]] static constexpr std::size_t words(std::size_t depth) {
    return (depth + Loops::factors_per_word - 1) / Loops::factors_per_word;
  }
  /// Returns the same, filled up to whole steps of a tile. Zeros fill both factors.
  [[nodiscard]] static constexpr std::size_t whole_words(std::size_t depth) {
    return (words(depth) + Loops::step_words - 1) / Loops::step_words * Loops::step_words;
  }
  [[nodiscard]] static constexpr std::size_t padded(std::size_t columns) {
    return (columns + width - 1) / width * width;
  }
  /// Returns the number of words in the panels of B (k, n).
  [[nodiscard]] static std::size_t right_size(std::size_t k, std::size_t n) {
    return words(k) * padded(n);
  }
  /// Returns the number of words for a part of a block of rows of A (m, k).
  [[nodiscard]] static std::size_t left_size(std::size_t k, std::size_t m) {
    return whole_words(std::min(k, part)) * padded(std::min(m, row_blocks::max_rows));
  }

  /// Packs columns of B (k, ...) into one panel: rows of words, each two registers wide.
  static void pack_panel(const Loops& loops, const matrix<float>& b, std::size_t k,
                         std::size_t columns, float* target) {
    if (!b.transposed) {
      loops.round_rows(b.data, b.row_step, k, columns, target, width);
      return;
    }
    if (columns < width) {
      std::fill_n(target, words(k) * width, 0.0F);
    }
    float rows[width * words(part)];
    for (std::size_t first = 0; first < k; first += part) {
      const std::size_t depth = std::min(part, k - first);
      for (std::size_t j = 0; j < columns; ++j) {
        loops.round_row(b.data + j * b.row_step + first, depth, rows + j * words(part));
      }
      loops.transpose_matrix(rows, words(part), target + words(first) * width, width, columns,
                             words(depth));
    }
  }
  /// Packs the same, with zeros up to `whole_words(k)` rows.
  static void pack_whole_panel(const Loops& loops, const matrix<float>& b, std::size_t k,
                               std::size_t columns, float* target) {
    pack_panel(loops, b, k, columns, target);
    std::fill(target + words(k) * width, target + whole_words(k) * width, 0.0F);
  }
  /// Packs B (k, n) on the calling thread, into panels that are `panel_step` words apart.
  static void pack(const Loops& loops, const matrix<float>& b, std::size_t k, std::size_t n,
                   float* target, std::size_t panel_step) {
    for (std::size_t first = 0; first < n; first += width, target += panel_step) {
      pack_panel(loops, b.columns_from(first), k, std::min(width, n - first), target);
    }
  }

  /// Packs weights and a bias like `cpu_loops::pack_panels`, with words behind the bias.
  static void pack_panels(const Loops& loops, const float* w, std::size_t step, const float* bias,
                          std::size_t depth, std::size_t outputs, float* target) {
    for (std::size_t first = 0; first < outputs; first += width, target += (1 + depth) * width) {
      const std::size_t count = std::min(width, outputs - first);
      std::fill_n(target, (count < width ? 1 + depth : 1) * width, 0.0F);
      if (bias != nullptr) {
        std::copy_n(bias + first, count, target);
      }
      pack_panel(loops, {w + first, step}, depth, count, target + width);
    }
  }

  /// The rows of a matrix A, which are packed part by part.
  struct left_matrix {
    Loops loops;
    matrix<float> a;

    /// Packs the factors first ... first + depth - 1 of some rows, for which `left_size` has room.
    /// In tiles, zeros fill each row up to `length` words.
    void pack(std::size_t row, std::size_t rows, std::size_t first, std::size_t depth,
              std::size_t length, float* target) const {
      const matrix<float> source = a.rows_from(row).columns_from(first);
      if (a.transposed && Loops::in_tiles) {
        pack_transposed_rows(loops, source, rows, depth, length, target);
        return;
      }
      if (a.transposed) {
        loops.round_rows(source.data, a.row_step, depth, rows, target, padded(rows));
        return;
      }
      for (std::size_t i = 0; i < rows; ++i) {
        float* const words_of_row = target + i * length;
        loops.round_row(source.data + i * a.row_step, depth, words_of_row);
        std::fill(words_of_row + words(depth), words_of_row + length, 0.0F);
      }
    }
    /// Returns the rows that `pack` packed.
    [[nodiscard]] left_rows view(std::size_t rows, std::size_t length, const float* packed) const {
      return a.transposed && !Loops::in_tiles ? left_rows{packed, 1, padded(rows)}
                                              : left_rows{packed, length, 1};
    }
  };

  /// Multiplies a block of rows by panels of B, each of `k_words` rows. `left(first, depth,
  /// length)` returns the packed rows for a part of the sums, each of `length` words.
  template <class Left>
  static void multiply_block(const Loops& loops, const Left& left, std::size_t k,
                             std::size_t k_words, const float* panels, std::size_t panel_step,
                             float* c, std::size_t c_row, std::size_t rows, std::size_t columns,
                             bool add = false) {
    [[maybe_unused]] const typename Loops::tile_state state{};
    std::size_t first = 0;
    do {
      const std::size_t depth = std::min(part, k - first);
      const std::size_t length = std::min(words(part), k_words - words(first));
      const left_rows a = left(first, depth, length);
      const float* const b = panels + words(first) * width;
      const bool adds = add || first > 0;
      const std::size_t whole = rows == 1 && !Loops::in_tiles ? columns / width : 0;
      if (whole > 0) {
        loops.multiply_row(a.data, a.step, b, panel_step, length, words(part), whole, c, adds);
      }
      for (std::size_t column = whole * width; column < columns; column += width) {
        multiply_tiles(loops, a, length, b + column / width * panel_step, width, c, c_row,
                       {0, rows, column, std::min(width, columns - column)}, adds);
      }
      first += part;
    } while (first < k);
  }

  /// Computes C = A B, or adds the product to C, on the calling thread. `scratch` has
  /// `scratch_size(s)` elements.
  static void multiply_here(const Loops& loops, const matrix<float>& a, const matrix<float>& b,
                            float* c, std::size_t c_row, const sizes& s, float* scratch,
                            bool add = false) {
    float* const right = scratch + left_size(s.k, s.m);
    std::size_t first = 0;
    do {
      const std::size_t depth = std::min(part, s.k - first);
      const std::size_t step = words(depth) * width;
      pack(loops, b.rows_from(first), depth, s.n, right, step);
      multiply_packed(loops, a.columns_from(first), right, step, c, c_row, {s.m, s.n, depth},
                      scratch, add || first > 0);
      first += part;
    } while (first < s.k);
  }
  [[nodiscard]] static std::size_t scratch_size(const sizes& s) {
    return left_size(s.k, s.m) + right_size(std::min(s.k, part), s.n);
  }

  /// Computes C = A B, or adds the product to C, for a packed B on the calling thread. `scratch`
  /// has left_size(s.k, s.m) elements.
  static void multiply_packed(const Loops& loops, const matrix<float>& a, const float* panels,
                              std::size_t panel_step, float* c, std::size_t c_row, const sizes& s,
                              float* scratch, bool add = false) {
    const left_matrix left{loops, a};
    constexpr std::size_t max_rows =
        row_blocks::max_rows / Loops::tile_patches * Loops::tile_patches;
    for (std::size_t row = 0; row < s.m; row += max_rows) {
      const std::size_t rows = std::min(max_rows, s.m - row);
      multiply_block(loops, packing(left, row, rows, scratch), s.k, words(s.k), panels, panel_step,
                     c + row * c_row, c_row, rows, s.n, add);
    }
  }

  /// Computes last(A B) on all threads. `packed` is null or the result of `pack_panels` for B.
  static void multiply(const Loops& loops, const workers& team, const memory_pool& memory,
                       const matrix<float>& a, const matrix<float>& b, float* c, const sizes& s,
                       const epilogue<float>& last, const float* packed = nullptr) {
    const left_matrix left{loops, a};
    const row_blocks blocks(s.m, Loops::tile_patches);
    const std::size_t panels = (s.n + width - 1) / width;
    const std::size_t k_words = packed == nullptr ? whole_words(s.k) : words(s.k);
    const std::size_t panel_step = packed == nullptr ? k_words * width : (1 + s.k) * width;
    const std::size_t slabs =
        blocks.count > 1 ? product_slabs(panels, words(s.k) * width * sizeof(float), slab_bytes)
                         : 1;
    // If several groups of columns read each block of rows, the block is packed once.
    const std::size_t copy_size = left_size(s.k, s.m);
    const std::size_t parts = std::max<std::size_t>((s.k + part - 1) / part, 1);
    const bool shared = blocks.groups(panels) > 1;
    const detail::host_tensor<float> copies(
        memory, {shared ? blocks.count * parts : team.threads(), copy_size});
    const auto rows_of_block = [&](std::size_t block) {
      const std::size_t row = block * blocks.rows;
      // Blocks are rounded to tiles, so the blocks before may already hold all rows.
      return row < s.m ? std::min(blocks.rows, s.m - row) : 0;
    };
    if (shared) {
      run(team, s, blocks.count * parts, [&](std::size_t task, std::size_t) {
        const std::size_t block = task / parts;
        const std::size_t first = task % parts * part;
        left.pack(block * blocks.rows, rows_of_block(block), first, std::min(part, s.k - first),
                  std::min(words(part), k_words - words(first)), copies.data() + task * copy_size);
      });
    }
    for (std::size_t slab = 0; slab < slabs; ++slab) {
      const std::size_t first = slab * panels / slabs;
      const std::size_t count = (slab + 1) * panels / slabs - first;
      const std::size_t origin = first * width;
      const std::size_t columns = std::min(count * width, s.n - origin);
      detail::host_tensor<float> owned;
      // Behind the biases of packed weights.
      const float* right = packed == nullptr ? nullptr : packed + first * panel_step + width;
      if (packed == nullptr) {
        owned = detail::host_tensor<float>(memory, {count, panel_step});
        right = owned.data();
        run(team, s, count, [&](std::size_t panel, std::size_t) {
          pack_whole_panel(loops, b.columns_from(origin + panel * width), s.k,
                           std::min(width, columns - panel * width),
                           owned.data() + panel * panel_step);
        });
      }
      const std::size_t groups = blocks.groups(count);
      run(team, s, blocks.count * groups, [&](std::size_t task, std::size_t thread) {
        const std::size_t group = task % groups;
        const std::size_t block = task / groups;
        const std::size_t row = block * blocks.rows;
        const std::size_t rows = rows_of_block(block);
        if (rows == 0) {
          return;
        }
        const std::size_t panel = group * count / groups;
        const std::size_t column = panel * width;
        const std::size_t end = std::min((group + 1) * count / groups * width, columns);
        float* const target = c + row * s.n + origin + column;
        const auto multiply_by = [&](const auto& rows_of_part) {
          multiply_block(loops, rows_of_part, s.k, k_words, right + panel * panel_step, panel_step,
                         target, s.n, rows, end - column);
        };
        if (shared) {
          multiply_by([&](std::size_t first_factor, std::size_t, std::size_t length) {
            return left.view(rows, length,
                             copies.data() + (block * parts + first_factor / part) * copy_size);
          });
        } else {
          multiply_by(packing(left, row, rows, copies.data() + thread * copy_size));
        }
        last.apply(loops, c + row * s.n, s.n, rows, origin + column, end - column);
      });
    }
  }

 private:
  /// Packs rows of a transposed A, each as consecutive words.
  static void pack_transposed_rows(const Loops& loops, const matrix<float>& a, std::size_t rows,
                                   std::size_t depth, std::size_t length, float* target) {
    float columns[words(part) * width];
    for (std::size_t row = 0; row < rows; row += width) {
      const std::size_t count = std::min(width, rows - row);
      loops.round_rows(a.data + row, a.row_step, depth, count, columns, width);
      float* const first = target + row * length;
      loops.transpose_matrix(columns, width, first, length, words(depth), count);
      for (std::size_t i = 0; i < count; ++i) {
        std::fill(first + i * length + words(depth), first + (i + 1) * length, 0.0F);
      }
    }
  }

  /// Returns a function for `multiply_block` that packs the rows of a part.
  static auto packing(const left_matrix& left, std::size_t row, std::size_t rows, float* scratch) {
    return [&left, row, rows, scratch](std::size_t first, std::size_t depth, std::size_t length) {
      left.pack(row, rows, first, depth, length, scratch);
      return left.view(rows, length, scratch);
    };
  }

  template <class Body>
  static void run(const workers& team, const sizes& s, std::size_t count, const Body& body) {
    if (2 * s.m * s.n * s.k >= flops_worth_sharing) {
      team.run(count, body);
      return;
    }
    const flush_denormals on_this_thread;
    for (std::size_t task = 0; task < count; ++task) {
      body(task, 0);
    }
  }
};

}  // namespace glia::cpu_loops
