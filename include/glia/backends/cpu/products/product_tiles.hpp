#pragma once

#include <algorithm>
#include <cstddef>

namespace glia::cpu_loops {

/// A part of the rows of a factor A: the first element, the distances between rows, between the
/// elements of a row, and between the first rows of tiles if they are apart.
template <class T>
struct rows_of_factor {
  const T* data;
  std::size_t row_step;
  std::size_t step;
  std::size_t tile_step = 0;
};

/// A block of the result C.
struct product_region {
  std::size_t row;
  std::size_t rows;
  std::size_t column;
  std::size_t columns;
};

/// Tiles of nearly equal size: the first `remainder` tiles have one row more than `quotient`. In
/// tile registers, tiles have `quotient` rows and are full, but the last one has `remainder`.
template <class Loops>
struct product_tiles {
  explicit product_tiles(std::size_t rows)
      : count((rows + Loops::tile_patches - 1) / Loops::tile_patches),
        quotient(Loops::in_tiles ? Loops::tile_patches : rows / std::max<std::size_t>(count, 1)),
        remainder(rows - quotient * (Loops::in_tiles ? count - 1 : count)) {}
  [[nodiscard]] std::size_t rows(std::size_t i) const {
    if constexpr (Loops::in_tiles) {
      return i + 1 < count ? quotient : remainder;
    }
    return i < remainder ? quotient + 1 : quotient;
  }
  std::size_t count;
  std::size_t quotient;
  std::size_t remainder;
};

/// Blocks of rows of A, which stay in a second-level cache, each with the panel that it is
/// multiplied by. There are enough rows in a block to make up for the transfer of a panel into the
/// cache, and few enough for an even distribution.
struct row_blocks {
  static constexpr std::size_t max_rows = 132;
  static constexpr std::size_t min_rows = 60;
  static constexpr std::size_t enough_tasks = 16;

  /// Cuts m rows into blocks of whole tiles.
  row_blocks(std::size_t m, std::size_t tile) {
    const std::size_t min_count = (m + max_rows - 1) / max_rows;
    const std::size_t max_count = std::min(m / min_rows, enough_tasks);
    count = std::max(min_count, 2 * max_count >= enough_tasks ? max_count : 1);
    rows = ((m + count - 1) / count + tile - 1) / tile * tile;
  }
  /// Returns the number of groups into which `units` columns of each block are cut, so that a few
  /// blocks keep all threads busy.
  [[nodiscard]] std::size_t groups(std::size_t units) const {
    return 2 * count >= enough_tasks ? 1 : std::min(enough_tasks / count, units);
  }

  std::size_t count;
  std::size_t rows;
};

/// A smaller product takes less time than the transfer of half of it to a second thread.
inline constexpr std::size_t flops_worth_sharing = 500'000;

/// Returns the number of slabs into which `panels` panels of B, each of `panel_bytes`, are cut. A
/// slab of `slab_bytes` stays in a third-level cache, which has at least 2 MiB for each core. Slabs
/// of a very deep B are larger, because each block of A is read once for each slab.
[[nodiscard]] inline std::size_t product_slabs(std::size_t panels, std::size_t panel_bytes,
                                               std::size_t slab_bytes = 2 << 20) {
  constexpr std::size_t min_panels = 8;
  const std::size_t max_panels =
      std::max(slab_bytes / std::max<std::size_t>(panel_bytes, 1), min_panels);
  return (panels + max_panels - 1) / max_panels;
}

/// Copies `rows` rows of `columns` elements.
template <class T>
void copy_rows(const T* source, std::size_t source_step, T* target, std::size_t target_step,
               std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(source + i * source_step, columns, target + i * target_step);
  }
}

/// Multiplies rows of A by `depth` rows of B, stored at `b` as a panel of whole registers, and
/// stores the product to a region of C or adds it.
template <class T, class Loops>
void multiply_tiles(const Loops& loops, const rows_of_factor<T>& a, std::size_t depth, const T* b,
                    std::size_t b_row, T* c, std::size_t c_row, const product_region& area,
                    bool add) {
  constexpr std::size_t width = Loops::template panel_width<T>;
  constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
  const std::size_t registers = (area.columns + per_register - 1) / per_register;
  const bool whole = area.columns % per_register == 0;
  alignas(64) T buffer[Loops::tile_patches * width];
  // If the rows of C are in a second-level cache, the processor is far enough ahead in short sums.
  const bool prefetched = depth >= 64 || area.rows * c_row * sizeof(T) > 512 << 10;
  const product_tiles<Loops> tiles(area.rows);
  std::size_t row = 0;
  for (std::size_t i = 0; i < tiles.count; ++i) {
    const std::size_t count = tiles.rows(i);
    T* const target = c + (area.row + row) * c_row + area.column;
    // The stores of a tile would wait for lines that are not in a cache yet.
    if (prefetched) {
      for (std::size_t j = 0; j < count; ++j) {
        for (std::size_t r = 0; r < registers; ++r) {
          __builtin_prefetch(target + j * c_row + r * per_register, 1);
        }
      }
    }
    if (!whole && add) {
      copy_rows(target, c_row, buffer, width, count, area.columns);
    }
    const T* const source = a.data + (a.tile_step > 0 ? i * a.tile_step : row * a.row_step);
    loops.multiply_tile(source, a.row_step, a.step, b, b_row, depth, whole ? target : buffer,
                        whole ? c_row : width, count, registers, add);
    if (!whole) {
      copy_rows(buffer, width, target, c_row, count, area.columns);
    }
    row += count;
  }
}

}  // namespace glia::cpu_loops
