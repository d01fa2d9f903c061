#pragma once

#include <cstddef>

#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// The image, and the row and column of the first of the 2 x 2 outputs of a tile.
struct winograd_tile {
  std::size_t image, row, column;

  /// Returns output j of the tile in y (N, OH, OW, O), or null outside the image.
  template <class T>
  [[nodiscard]] T* output(std::size_t j, const kernels::window_sizes& s, T* y) const {
    const std::size_t y_row = row + j / 2;
    const std::size_t y_column = column + j % 2;
    return y_row < s.oh && y_column < s.ow ? y + ((image * s.oh + y_row) * s.ow + y_column) * s.o
                                           : nullptr;
  }
};

/// The tiles of all images, numbered consecutively.
struct winograd_tiles {
  std::size_t rows, columns;  ///< Tiles of an image.
  std::size_t count;

  [[nodiscard]] winograd_tile tile(std::size_t i) const {
    return {i / columns / rows, 2 * (i / columns % rows), 2 * (i % columns)};
  }
};

[[nodiscard]] inline winograd_tiles tiles_of(const kernels::window_sizes& s) {
  const std::size_t rows = (s.oh + 1) / 2;
  const std::size_t columns = (s.ow + 1) / 2;
  return {rows, columns, s.n * rows * columns};
}

/// Finds the Side x Side pixels that the 2 x 2 outputs of a tile read, whose first output is at
/// `row` and `column`. Outside the image, a pixel is `zeros`.
template <std::size_t Side, class T>
void find_tile(const T* image, const kernels::window_sizes& s, std::size_t row, std::size_t column,
               const T* zeros, const T* (&pixel)[Side * Side]) {
  const std::size_t top = row - s.window.pad_top;
  const std::size_t left = column - s.window.pad_left;
  for (std::size_t i = 0; i < Side; ++i) {
    for (std::size_t j = 0; j < Side; ++j) {
      const bool inside = top + i < s.h && left + j < s.w;
      pixel[Side * i + j] = inside ? image + ((top + i) * s.w + left + j) * s.c : zeros;
    }
  }
}

}  // namespace glia::cpu_loops
