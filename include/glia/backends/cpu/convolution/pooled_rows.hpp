#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/padded_image.hpp"
#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/loops/patch_grid.hpp"
#include "glia/backends/cpu/loops/pool_window.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

// Convolutions of at most this depth are computed window by window, without storing their outputs.
inline constexpr std::size_t max_direct_depth = 32;
// Shares of the caches for a band of rows.
inline constexpr std::size_t first_level_bytes = 24 << 10;
inline constexpr std::size_t second_level_bytes = 128 << 10;

/// The bands of pooled rows of an image, and the convolution rows of a band.
template <class T>
struct pooled_rows {
  pooled_rows(const kernels::window_sizes& s, const kernels::window_sizes& pool, std::size_t bytes)
      : window(pool.window),
        pooled(std::clamp<std::size_t>(bytes / (window.stride_height * s.ow * s.o * sizeof(T)), 1,
                                       pool.oh)),
        bands((pool.oh + pooled - 1) / pooled),
        convolved(rows(pooled)) {}

  [[nodiscard]] std::size_t rows(std::size_t pooled_count) const {
    return (pooled_count - 1) * window.stride_height + window.height;
  }
  [[nodiscard]] row_band band(const patch_convolution<T>& c, std::size_t first,
                              std::size_t pooled_count) const {
    return c.image().band(first * window.stride_height, rows(pooled_count));
  }

  window2d window;
  std::size_t pooled;     // rows per band
  std::size_t bands;      // per image
  std::size_t convolved;  // rows of the convolution in a full band
};

/// Calls visit(offset in the band's convolution, offset in its pooled rows, window).
template <class Visit>
void for_windows(const kernels::window_sizes& pool, std::size_t rows, const Visit& visit) {
  const window2d& k = pool.window;
  const pool_window window{k.height, k.width, pool.w * pool.c, pool.c, 0, k.width};
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < pool.ow; ++column) {
      visit((row * k.stride_height * pool.w + column * k.stride_width) * pool.c,
            (row * pool.ow + column) * pool.c, window);
    }
  }
}

/// Offsets of the patches of one window, relative to its first patch.
struct window_patches {
  window_patches(const patch_grid& grid, const window2d& k) : count(k.height * k.width) {
    for (std::size_t p = 0; p < count; ++p) {
      offset[p] =
          static_cast<std::uint32_t>(p / k.width * grid.row_step + p % k.width * grid.column_step);
    }
  }
  std::array<std::uint32_t, 256> offset;  // the first `count` are used
  std::size_t count;
};

/// Returns the grid of the windows of `rows` pooled rows.
template <class T>
[[nodiscard]] pooled_window_grid window_grid(const patch_convolution<T>& c,
                                             const kernels::window_sizes& pool, std::size_t rows) {
  const window2d& k = c.sizes().window;
  const std::size_t row_size = c.image().row_size();
  const std::size_t seen_columns =
      (pool.window.width - 1) * k.stride_width + (k.width - 1) * k.dilation_width + 1;
  return {.rows = rows,
          .columns = pool.ow,
          .row_step = pool.window.stride_height * k.stride_height * row_size,
          .column_step = pool.window.stride_width * k.stride_width * c.sizes().c,
          .seen_rows = c.image().band(0, pool.window.height).input_rows,
          .seen_columns = seen_columns * c.sizes().c,
          .seen_row_step = row_size,
          .channels = pool.c};
}

}  // namespace glia::cpu_loops
