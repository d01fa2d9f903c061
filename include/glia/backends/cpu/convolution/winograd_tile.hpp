#pragma once

#include <cstddef>

#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

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
