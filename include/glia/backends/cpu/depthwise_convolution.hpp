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
  static bool applies(const window_sizes& s) {
    return s.groups > 1 && s.group_inputs() == 1 && s.group_outputs() == 1;
  }

  explicit depthwise_convolution(const patch_convolution<T>& c) : c_(&c) {}

  /// y (rows, OW, C) of a band; w (height, width, 1, C), bias (C) or none.
  template <class Kernels>
  void forward(const Kernels& kernels, const T* x, const row_band& band, const T* w, const T* bias,
               T* y) const {
    const patch_grid grid = c_->image().grid(band);
    const std::size_t channels = c_->sizes().c;
    for (std::size_t row = 0; row < grid.rows; ++row) {
      for (std::size_t column = 0; column < grid.columns; column += Kernels::tile_patches) {
        const std::size_t n = std::min(Kernels::tile_patches, grid.columns - column);
        std::array<const T*, 16> from{};
        std::array<T*, 16> to{};
        for (std::size_t p = 0; p < n; ++p) {
          from[p] = x + row * grid.row_step + (column + p) * grid.column_step;
          to[p] = y + (row * grid.columns + column + p) * channels;
        }
        kernels.multiply_channels(from.data(), n, c_->offsets(), c_->depth(), w, bias, channels,
                                  to.data());
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
  const patch_convolution<T>* c_;
};

}  // namespace glia::cpu_loops
