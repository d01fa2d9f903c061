#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Returns n, or n + 1 if n is odd. The numbers of channels and of columns whose words are
/// multiplied are filled up to even numbers, so that sums do not depend on the instruction set.
[[nodiscard]] constexpr std::size_t even_number(std::size_t n) { return (n + 1) / 2 * 2; }

/// Writes the words of pixels, group by group; see loops/rounding.inl. Elements that fill up an odd
/// number of channels are not written.
template <class Loops>
void round_pixels(const Loops& loops, const float* x, std::size_t pixels, std::size_t channels,
                  std::size_t groups, float* words) {
  const std::size_t of_group = channels / groups;
  if (of_group == even_number(of_group)) {
    loops.round_row(x, pixels * channels, words);
    return;
  }
  const std::size_t step = even_number(of_group) / Loops::factors_per_word;
  for (std::size_t i = 0; i < pixels * groups; ++i) {
    loops.round_row(x + i * of_group, of_group, words + i * step);
  }
}

/// Writes the words of a band of an image, with zeros around them. `c` is the convolution of sizes
/// `s` whose channels are words.
template <class Loops>
void round_band(const Loops& loops, const kernels::window_sizes& s, const float* image,
                const patch_convolution<float>& c, const row_band& band, float* words) {
  for (std::size_t row = 0; row < band.input_rows; ++row) {
    float* const target = words + row * c.image().row_size();
    std::fill_n(target, c.image().row_size(), 0.0F);
    const std::size_t source = c.image().source_row(band, row);
    if (source < s.h) {
      round_pixels(loops, image + source * s.w * s.c, s.w, s.c, s.groups,
                   target + s.window.pad_left * c.sizes().c);
    }
  }
}

}  // namespace glia::cpu_loops
