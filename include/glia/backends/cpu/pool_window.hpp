#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// The part of a pooling's window that lies inside the image: `rows` x `columns` pixels. Positions
/// are counted over the whole window, row by row.
struct pool_window {
  std::size_t rows;
  std::size_t columns;
  std::size_t row_step;           ///< elements from a pixel to the one below it in the window
  std::size_t column_step;        ///< elements from a pixel to the next one in the window
  std::size_t first;              ///< position of the first pixel
  std::size_t positions_per_row;  ///< the whole window's width

  [[nodiscard]] std::size_t count() const { return rows * columns; }
};

/// Where a window of a pooling after a convolution begins: its first patch, its output.
struct pooled_window {
  std::uint32_t input;
  std::uint32_t output;
};

/// The windows of some pooled rows after a convolution, and the rectangle of input elements that
/// each of them sees.
struct pooled_window_grid {
  std::size_t rows;
  std::size_t columns;
  std::size_t row_step;     ///< input elements from a window to the one below
  std::size_t column_step;  ///< input elements from a window to the one on its right
  std::size_t seen_rows;
  std::size_t seen_columns;   ///< elements
  std::size_t seen_row_step;  ///< input elements from a seen row to the one below
  std::size_t channels;       ///< of an output

  [[nodiscard]] std::size_t count() const { return rows * columns; }
};

/// The steps of a window along one axis that lie inside 0 ... extent - 1.
struct inside_steps {
  inside_steps(std::size_t output, std::size_t stride, std::size_t dilation, std::size_t padding,
               std::size_t window, std::size_t extent) {
    const std::size_t start = output * stride;
    first = start < padding ? (padding - start + dilation - 1) / dilation : 0;
    const std::size_t end = extent + padding - start;  // where the image ends, from the start on
    const std::size_t last = std::min(window, (end + dilation - 1) / dilation);
    count = last > first ? last - first : 0;
    at = start + first * dilation - padding;
  }
  std::size_t first;  ///< step
  std::size_t count;
  std::size_t at;  ///< where the first step lies
};

/// The window of output (oy, ox); `at` receives the offset of its first pixel within the image.
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
