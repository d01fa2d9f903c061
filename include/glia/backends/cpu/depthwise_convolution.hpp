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

  /// y (rows, OW, C) of a band, clamped; w (height, width, 1, C), bias (C) or none.
  template <class Kernels>
  void forward(const Kernels& kernels, const T* x, const row_band& band, const T* w, const T* bias,
               T* y, const clamp_range<T>& range) const {
    const window_sizes& s = c_->sizes();
    const window2d& k = s.window;
    const std::size_t row_size = c_->image().row_size();
    const depthwise_row all{
        s.ow, s.c, k.height, k.width, k.stride_width * s.c, k.dilation_width * s.c, s.c, s.c};
    for (std::size_t row = 0; row < band.rows; ++row) {
      const T* top = x + row * k.stride_height * row_size;
      std::array<const T*, max_rows> rows{};
      for (std::size_t tap = 0; tap < k.height; ++tap) {
        rows[tap] = top + tap * k.dilation_height * row_size;
      }
      kernels.convolve_channels(all, rows.data(), w, bias, y + row * s.ow * s.c, range);
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
  const patch_convolution<T>* c_;
};

}  // namespace glia::cpu_loops
