#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "glia/backends/cpu/patch_convolution.hpp"
#include "glia/backends/cpu/vector_kernels.hpp"

namespace glia::cpu_loops {

/// Convolutions that treat every channel on its own, channels being the vectors' lanes.
template <class T>
class depthwise_convolution {
 public:
  /// Of a window.
  static constexpr std::size_t max_rows = 16;

  static bool applies(const window_sizes& s) {
    return s.groups > 1 && s.group_inputs() == 1 && s.group_outputs() == 1 &&
           s.window.height <= max_rows;
  }

  explicit depthwise_convolution(const patch_convolution<T>& c) : c_(&c) {}

  /// Elements of scratch memory that `forward` takes: a row of zeros, and a window's pixels.
  [[nodiscard]] std::size_t scratch_size() const {
    const window_sizes& s = c_->sizes();
    return (s.w + s.window.height * s.window.width) * s.c;
  }

  /// Rows first ... first + rows - 1 of y (OH, OW, C), clamped, from an image x that needs no
  /// padding around it; w (height, width, 1, C), bias (C) or none.
  template <class Kernels>
  void forward(const Kernels& kernels, const T* x, std::size_t first, std::size_t rows, const T* w,
               const T* bias, T* y, const clamp_range<T>& range, T* scratch) const {
    const window_sizes& s = c_->sizes();
    const window2d& k = s.window;
    T* const zeros = scratch;
    T* const window = scratch + s.w * s.c;
    std::fill_n(zeros, s.w * s.c, T{0});
    // Outputs inside ... outside - 1 of a row see the image only.
    const std::size_t reach = (k.width - 1) * k.dilation_width + 1;
    const std::size_t steps =
        s.w + k.pad_left < reach ? 0 : (s.w + k.pad_left - reach) / k.stride_width + 1;
    const std::size_t outside = std::min(steps, s.ow);
    const std::size_t inside =
        std::min((k.pad_left + k.stride_width - 1) / k.stride_width, outside);
    depthwise_row row{outside - inside,       s.c, k.height, k.width, k.stride_width * s.c,
                      k.dilation_width * s.c, s.c, s.c};
    for (std::size_t r = first; r < first + rows; ++r) {
      std::array<const T*, max_rows> seen{};
      for (std::size_t tap = 0; tap < k.height; ++tap) {
        const std::size_t at = r * k.stride_height + tap * k.dilation_height - k.pad_top;
        seen[tap] = at < s.h ? x + at * s.w * s.c : zeros;
      }
      T* const to = y + r * s.ow * s.o;
      for (std::size_t column = 0; column < s.ow; ++column) {
        if (column == inside && inside < outside) {
          std::array<const T*, max_rows> from = seen;
          for (std::size_t tap = 0; tap < k.height; ++tap) {
            from[tap] += (inside * k.stride_width - k.pad_left) * s.c;
          }
          kernels.convolve_channels(row, from.data(), w, bias, to + inside * s.c, range);
          column = outside - 1;
        } else {
          border(kernels, seen.data(), column, w, bias, to + column * s.c, range, window);
        }
      }
    }
  }

  /// dw (height, width, 1, C) += what the band adds to it.
  template <class Kernels>
  void add_kernel_gradient(const Kernels& kernels, const T* x, const row_band& band, const T* dy,
                           T* dw) const {
    const std::size_t channels = c_->sizes().c;
    for (std::size_t k = 0; k < c_->depth(); k += max_accumulators) {
      kernels.add_channel_kernel_gradient(x, c_->image().grid(band), c_->offsets() + k,
                                          std::min(max_accumulators, c_->depth() - k), dy, channels,
                                          dw + k * channels);
    }
  }

  /// dx (padded rows of the band) += dy spread over the patches.
  template <class Kernels>
  void add_input_gradient(const Kernels& kernels, const T* dy, const row_band& band, const T* w,
                          T* dx) const {
    const patch_grid grid = c_->image().grid(band);
    const std::size_t channels = c_->sizes().c;
    for (std::size_t row = 0; row < grid.rows; ++row) {
      for (std::size_t column = 0; column < grid.columns; ++column, dy += channels) {
        T* const patch = dx + row * grid.row_step + column * grid.column_step;
        for (std::size_t k = 0; k < c_->depth(); ++k) {
          kernels.add_product(w + k * channels, dy, patch + c_->offsets()[k], channels);
        }
      }
    }
  }

 private:
  /// One output at the border: its window is copied, with zeros for what lies outside.
  template <class Kernels>
  void border(const Kernels& kernels, const T* const* seen, std::size_t column, const T* w,
              const T* bias, T* y, const clamp_range<T>& range, T* window) const {
    const window_sizes& s = c_->sizes();
    const window2d& k = s.window;
    std::array<const T*, max_rows> rows{};
    for (std::size_t tap = 0; tap < k.height; ++tap) {
      rows[tap] = window;
      for (std::size_t i = 0; i < k.width; ++i, window += s.c) {
        const std::size_t at = column * k.stride_width + i * k.dilation_width - k.pad_left;
        at < s.w ? std::copy_n(seen[tap] + at * s.c, s.c, window) : std::fill_n(window, s.c, T{0});
      }
    }
    kernels.convolve_channels(depthwise_row{1, s.c, k.height, k.width, 0, s.c, s.c, s.c},
                              rows.data(), w, bias, y, range);
  }

  const patch_convolution<T>* c_;
};

}  // namespace glia::cpu_loops
