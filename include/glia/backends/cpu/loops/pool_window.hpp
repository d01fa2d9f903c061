#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace glia::cpu_loops
