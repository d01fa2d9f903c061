#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/shape_rules.hpp"

namespace glia::cpu_loops {

/// Gathers, for every output position of `images` images, the input values that its window covers:
/// columns (images * OH * OW, height * width * C / groups), zero where the window hangs over the
/// border. A convolution is then one matrix product per group (Chellapilla, Puri and Simard, 2006).
template <class T>
void gather_columns(const T* x, const window_sizes& s, std::size_t images, std::size_t group,
                    T* columns) {
  const std::size_t depth = s.group_inputs();
  for_each_window_pixel(s, images, [&](std::size_t pixel, bool inside) {
    if (inside) {
      std::copy_n(x + pixel * s.c + group * depth, depth, columns);
    } else {
      std::fill_n(columns, depth, T{0});
    }
    columns += depth;
  });
}

/// The adjoint: adds every column entry to the input value it came from.
template <class T>
void scatter_columns(const T* columns, const window_sizes& s, std::size_t images, std::size_t group,
                     T* dx) {
  const std::size_t depth = s.group_inputs();
  for_each_window_pixel(s, images, [&](std::size_t pixel, bool inside) {
    if (inside) {
      T* to = dx + pixel * s.c + group * depth;
      for (std::size_t i = 0; i < depth; ++i) {
        to[i] += columns[i];
      }
    }
    columns += depth;
  });
}

/// visit(pixel, inside) for every window position of every output position, in the order of the
/// columns; `pixel` counts over all images and means something only where `inside`.
template <class Visit>
void for_each_window_pixel(const window_sizes& s, std::size_t images, const Visit& visit) {
  const window2d& k = s.window;
  for (std::size_t n = 0; n < images; ++n) {
    for (std::size_t oy = 0; oy < s.oh; ++oy) {
      for (std::size_t ox = 0; ox < s.ow; ++ox) {
        for (std::size_t ky = 0; ky < k.height; ++ky) {
          const std::size_t iy = oy * k.stride_height + ky * k.dilation_height - k.pad_top;
          for (std::size_t kx = 0; kx < k.width; ++kx) {
            const std::size_t ix = ox * k.stride_width + kx * k.dilation_width - k.pad_left;
            visit((n * s.h + iy) * s.w + ix, iy < s.h && ix < s.w);
          }
        }
      }
    }
  }
}

}  // namespace glia::cpu_loops
