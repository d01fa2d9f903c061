#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// The part of a pooling window inside the image: `rows` x `columns` pixels. Positions count row by
/// row over the whole window.
struct pool_window {
  std::size_t rows;
  std::size_t columns;
  std::size_t row_step;           ///< Elements from a pixel to the pixel below it in the window.
  std::size_t column_step;        ///< Elements from a pixel to the next pixel in the window.
  std::size_t first;              ///< Position of the first pixel.
  std::size_t positions_per_row;  ///< Width of the whole window.

  [[nodiscard]] std::size_t count() const { return rows * columns; }
};

/// The offsets of a pooling window after a convolution: its first patch and its output.
struct pooled_window {
  std::uint32_t input;
  std::uint32_t output;
};

/// A grid of pooling windows after a convolution, and the rectangle of input elements that each
/// window reads.
struct pooled_window_grid {
  std::size_t rows;
  std::size_t columns;
  std::size_t row_step;     ///< Input elements from a window to the window below.
  std::size_t column_step;  ///< Input elements from a window to the window on its right.
  std::size_t seen_rows;
  std::size_t seen_columns;   ///< Number of elements.
  std::size_t seen_row_step;  ///< Input elements from one of these rows to the row below.
  std::size_t channels;       ///< Number of channels of an output.

  [[nodiscard]] std::size_t count() const { return rows * columns; }
};

/// The steps of a window along one axis whose positions are inside the image, in 0 ... extent - 1.
struct inside_steps {
  inside_steps(std::size_t output, std::size_t stride, std::size_t dilation, std::size_t padding,
               std::size_t window, std::size_t extent) {
    const std::size_t start = output * stride;
    first = start < padding ? (padding - start + dilation - 1) / dilation : 0;
    const std::size_t end = extent + padding - start;  // the end of the image, counted from `start`
    const std::size_t last = std::min(window, (end + dilation - 1) / dilation);
    count = last > first ? last - first : 0;
    at = start + first * dilation - padding;
  }
  std::size_t first;  ///< First step.
  std::size_t count;
  std::size_t at;  ///< Position of the first step in the image.
};

/// Returns the window of output (oy, ox). `at` receives the offset of its first pixel in the image.
[[nodiscard]] inline pool_window window_at(const window_sizes& s, std::size_t oy, std::size_t ox,
                                           std::size_t& at) {
  const window2d& k = s.window;
  const inside_steps y(oy, k.stride_height, k.dilation_height, k.pad_top, k.height, s.h);
  const inside_steps x(ox, k.stride_width, k.dilation_width, k.pad_left, k.width, s.w);
  at = (y.at * s.w + x.at) * s.c;
  return {y.count,
          x.count,
          k.dilation_height * s.w * s.c,
          k.dilation_width * s.c,
          y.first * k.width + x.first,
          k.width};
}

}  // namespace glia::cpu_loops
