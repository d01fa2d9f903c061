#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/convolution/rounded_pixels.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/products/density.hpp"
#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/threads/gradient_lanes.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Convolutions with factors rounded to bfloat16. They are computed like other convolutions, but
/// the elements of images, weights and gradients are words; see loops/rounding.inl. A word has
/// consecutive factors of a sum: channels of a pixel or, for the gradient of the kernel, pixels of
/// a row.
template <class Loops>
class rounded_convolution {
 public:
  rounded_convolution(const Loops& loops, const workers& team, const memory_pool& memory,
                      const kernels::window_sizes& s)
      : loops_(loops), team_(&team), memory_(&memory), s_(s) {}

  /// Computes y = map(x * w + bias). Each thread computes bands of at most `most_rows` rows.
  void forward(const float* x, const float* w, const float* bias, const unary_map& map, float* y,
               std::size_t most_rows) const {
    const kernels::window_sizes& s = s_;
    kernels::window_sizes in_words = s;
    in_words.c = words_of_groups(s.c);
    const patch_convolution<float> c(in_words, *memory_);
    const detail::host_tensor<float> packed =
        c.pack(loops_, words_of_inputs(w, c).data(), bias, *memory_);
    const clamp_range<float> range(map);
    const epilogue<float> last{nullptr, kernels::clamps(map) ? kernels::identity_map : map};
    const std::size_t rows = std::min(c.rows_per_band(), most_rows);
    const std::size_t bands = (s.oh + rows - 1) / rows;
    const std::size_t size = c.band_size(rows);
    const detail::host_tensor<float> scratch(*memory_, {team_->threads(), size});
    team_->run(s.n * bands, [&](std::size_t task, std::size_t thread) {
      const std::size_t first = task % bands * rows;
      const std::size_t count = std::min(rows, s.oh - first);
      const row_band band = c.image().band(first, count);
      float* const image = scratch.data() + thread * size;
      float* const target = y + (task / bands * s.oh + first) * s.ow * s.o;
      round_band(loops_, s, x + task / bands * s.h * s.w * s.c, c, band, image);
      c.forward(loops_, image, band, packed.data(), target, range);
      last.apply(loops_, target, s.ow * s.o, count, 0, s.ow * s.o);
    });
  }

  /// Computes dx from dy and w, by adding the products of each pixel of dy to its patch.
  void input_gradient(const float* dy, const float* w, float* dx) const {
    const kernels::window_sizes& s = s_;
    kernels::window_sizes in_words = s;
    in_words.o = words_of_groups(s.o);
    const patch_convolution<float> c(in_words, *memory_, {.whole_rows = false});
    const detail::host_tensor<float> rounded(*memory_, {c.depth(), in_words.o});
    std::fill_n(rounded.data(), rounded.size(), 0.0F);
    round_pixels(loops_, w, c.depth(), s.o, s.groups, rounded.data());
    const detail::host_tensor<float> weights = c.pack_transposed(loops_, rounded.data(), *memory_);
    const std::size_t rows = c.rows_per_band();
    const std::size_t row_words = s.ow * in_words.o;
    const std::size_t size = c.band_size(rows) + rows * row_words;
    const detail::host_tensor<float> scratch(*memory_, {team_->threads(), size});
    team_->run(s.n, [&](std::size_t image, std::size_t thread) {
      float* const padded = scratch.data() + thread * size;
      float* const gradient = padded + c.band_size(rows);
      float* const target = dx + image * s.h * s.w * s.c;
      std::size_t covered = 0;
      for (std::size_t first = 0; first < s.oh; first += rows) {
        const row_band band = c.image().band(first, std::min(rows, s.oh - first));
        std::fill_n(padded, c.band_size(band.rows), 0.0F);
        std::fill_n(gradient, band.rows * row_words, 0.0F);
        round_pixels(loops_, dy + (image * s.oh + first) * s.ow * s.o, band.rows * s.ow, s.o,
                     s.groups, gradient);
        c.add_input_gradient(loops_, gradient, band, weights, padded);
        covered = c.image().add(loops_, padded, band, covered, target);
      }
      c.image().clear(target, covered, s.h);
    });
  }

  /// Computes dw from x and dy.
  void kernel_gradient(const float* x, const float* dy, float* dw) const {
    // With an odd number of columns, the last word of a row also multiplies a pixel outside its
    // patch by 0. If the pixel is rounded to infinity, the product would be NaN.
    if (factors == 2 && s_.ow % 2 != 0 &&
        !all_finite(*team_, x, s_.input().size(), rounded_loops<float>::finite_scale)) {
      with_isa(team_->level(), [&](auto loops) {
        rounded_convolution<decltype(loops)>(loops, *team_, *memory_, s_)
            .kernel_gradient(x, dy, dw);
      });
      return;
    }
    const kernels::window_sizes& s = s_;
    const window2d& k = s.window;
    const std::size_t columns = factors == 1 ? s.ow : even_number(s.ow);
    // The number of patches in a sum, with complete words in each row.
    const std::size_t rows_of_sum = detail::product_chain / even_number(s.ow);
    const std::size_t chain = rows_of_sum == 0 ? detail::product_chain : rows_of_sum * columns;
    // The last patch of a row, which may be outside the image, ends here.
    const std::size_t width = std::max(
        s.w + k.pad_left, (columns - 1) * k.stride_width + (k.width - 1) * k.dilation_width + 1);
    kernels::window_sizes in_words = s;
    in_words.ow = columns / factors;
    in_words.window.stride_width = factors * k.stride_width;
    in_words.window.pad_right = width - s.w - k.pad_left;
    const patch_convolution<float> c(in_words, *memory_, {.chain = chain / factors});
    const std::size_t rows = c.rows_per_band();
    const std::size_t row_size = width * s.c;
    const std::size_t partner = k.stride_width * s.c;  // elements to the second factor of a word
    const std::size_t gradient_row = in_words.ow * s.o;
    const std::size_t gradient_size = rows * gradient_row + slack;
    const std::size_t extra = c.template kernel_gradient_scratch<Loops>(rows);
    const std::size_t size = c.band_size(rows) + row_size + partner + gradient_size + extra;
    const detail::host_tensor<float> scratch(*memory_, {team_->threads(), size});
    sum_over_lanes(
        *team_, team_->level(), *memory_, s.n, c.depth() * s.o, dw,
        [&](std::size_t images) { return images * c.kernel_gradient_parts(s.oh, rows); },
        [&](auto, std::size_t image, std::size_t images, auto& sums, std::size_t thread) {
          float* const words = scratch.data() + thread * size;
          float* const padded_row = words + c.band_size(rows);
          float* const gradient = padded_row + row_size + partner;
          std::fill_n(padded_row, row_size + partner, 0.0F);
          for (; images > 0; ++image, --images) {
            for (std::size_t first = 0; first < s.oh; first += rows) {
              const row_band band = c.image().band(first, std::min(rows, s.oh - first));
              for (std::size_t row = 0; row < band.input_rows; ++row) {
                const std::size_t source = c.image().source_row(band, row);
                float* const target = words + row * row_size;
                if (source >= s.h) {
                  std::fill_n(target, row_size, 0.0F);
                } else {
                  std::copy_n(x + (image * s.h + source) * s.w * s.c, s.w * s.c,
                              padded_row + k.pad_left * s.c);
                  loops_.round_rows(padded_row, partner, factors, row_size, target, row_size);
                }
              }
              std::fill_n(gradient, gradient_size, 0.0F);
              for (std::size_t row = 0; row < band.rows; ++row) {
                loops_.round_rows(dy + (image * s.oh + first + row) * s.ow * s.o, s.o, s.ow, s.o,
                                  gradient + row * gradient_row, s.o);
              }
              c.add_kernel_gradient(loops_, words, band, gradient, sums, gradient + gradient_size);
            }
          }
        });
  }

 private:
  static constexpr std::size_t factors = Loops::factors_per_word;
  static constexpr std::size_t slack = patch_convolution<float>::slack;

  /// Returns the number of words of a pixel with this number of channels, in all groups.
  [[nodiscard]] std::size_t words_of_groups(std::size_t channels) const {
    return even_number(channels / s_.groups) / factors * s_.groups;
  }

  /// Returns the words of w (height, width, C / groups, O): each word has factors of one output.
  [[nodiscard]] detail::host_tensor<float> words_of_inputs(
      const float* w, const patch_convolution<float>& c) const {
    const std::size_t taps = s_.window.height * s_.window.width;
    const std::size_t rows = c.depth() / taps;
    const std::size_t inputs = s_.group_inputs();
    detail::host_tensor<float> words(*memory_, {c.depth() * s_.o + slack});
    std::fill_n(words.data(), words.size(), 0.0F);
    for (std::size_t tap = 0; tap < taps; ++tap) {
      loops_.round_rows(w + tap * inputs * s_.o, s_.o, inputs, s_.o,
                        words.data() + tap * rows * s_.o, s_.o);
    }
    return words;
  }

  Loops loops_;
  const workers* team_;
  const memory_pool* memory_;
  kernels::window_sizes s_;
};

}  // namespace glia::cpu_loops
