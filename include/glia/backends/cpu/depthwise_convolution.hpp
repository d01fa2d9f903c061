#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "glia/backends/cpu/patch_convolution.hpp"
#include "glia/backends/cpu/vector_kernels.hpp"

namespace glia::cpu_loops {

/// The rows that the windows of some output rows see, as `convolve_channels` takes them: for every
/// output row those of its window.
template <class T>
class seen_rows {
 public:
  /// `row_at(y)` gives the input row y; rows outside the image, which that may be, are its to give.
  template <class RowAt>
  seen_rows(const window_sizes& s, std::size_t first, std::size_t rows, const RowAt& row_at) {
    const window2d& k = s.window;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t tap = 0; tap < k.height; ++tap) {
        rows_[r * k.height + tap] =
            row_at((first + r) * k.stride_height + tap * k.dilation_height - k.pad_top);
      }
    }
  }

  /// Output rows for which there is room.
  [[nodiscard]] static std::size_t most(const window_sizes& s) { return size / s.window.height; }

  [[nodiscard]] const T* const* data() const { return rows_.data(); }
  /// Moves all by so many elements.
  void advance(std::ptrdiff_t elements) {
    for (const T*& row : rows_) {
      row = row == nullptr ? nullptr : row + elements;
    }
  }

 private:
  static constexpr std::size_t size = 64;
  std::array<const T*, size> rows_{};
};

/// Convolutions that treat every channel on its own, channels being the vectors' lanes.
template <class T>
class depthwise_convolution {
 public:
  static bool applies(const window_sizes& s) {
    return s.groups > 1 && s.group_inputs() == 1 && s.group_outputs() == 1 &&
           s.window.height <= max_window && s.window.width <= max_window;
  }

  explicit depthwise_convolution(const patch_convolution<T>& c) : c_(&c) {}

  /// Elements of scratch memory that `forward` takes: a row of zeros.
  [[nodiscard]] std::size_t scratch_size() const { return c_->sizes().w * c_->sizes().c; }

  /// Rows first ... first + rows - 1 of y (OH, OW, C), clamped, from an image x that needs no
  /// padding around it; w (height, width, 1, C), bias (C) or none.
  template <class Kernels>
  void forward(const Kernels& kernels, const T* x, std::size_t first, std::size_t rows, const T* w,
               const T* bias, T* y, const clamp_range<T>& range, T* zeros) const {
    const window_sizes& s = c_->sizes();
    const window2d& k = s.window;
    std::fill_n(zeros, s.w * s.c, T{0});
    // Outputs inside ... outside - 1 of a row see the image only.
    const std::size_t reach = (k.width - 1) * k.dilation_width + 1;
    const std::size_t steps =
        s.w + k.pad_left < reach ? 0 : (s.w + k.pad_left - reach) / k.stride_width + 1;
    const std::size_t outside = std::min(steps, s.ow);
    const std::size_t inside =
        std::min((k.pad_left + k.stride_width - 1) / k.stride_width, outside);
    for (const std::size_t end = first + rows; first < end;) {
      const std::size_t some = std::min(end - first, seen_rows<T>::most(s));
      seen_rows<T> seen(s, first, some,
                        [&](std::size_t row) { return row < s.h ? x + row * s.w * s.c : zeros; });
      T* const to = y + first * s.ow * s.c;
      for (std::size_t row = 0; row < some; ++row) {
        for (std::size_t column = 0; column < s.ow; ++column) {
          column = column == inside ? outside : column;
          if (column < s.ow) {
            border(kernels, seen.data() + row * k.height, column, w, bias,
                   to + (row * s.ow + column) * s.c, range, zeros);
          }
        }
      }
      if (inside < outside) {
        seen.advance(static_cast<std::ptrdiff_t>((inside * k.stride_width - k.pad_left) * s.c));
        kernels.convolve_channels(
            depthwise_rows{some, outside - inside, s.c, k.height, k.width, k.stride_width * s.c,
                           k.dilation_width * s.c, s.c, s.c, s.ow * s.c},
            seen.data(), w, bias, to + inside * s.c, range);
      }
      first += some;
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
  // Rows and columns of a window.
  static constexpr std::size_t max_window = 16;

  /// One output at the border: zeros stand for the pixels outside.
  template <class Kernels>
  void border(const Kernels& kernels, const T* const* seen, std::size_t column, const T* w,
              const T* bias, T* y, const clamp_range<T>& range, const T* zeros) const {
    const window_sizes& s = c_->sizes();
    const window2d& k = s.window;
    std::array<const T*, max_window * max_window> pixels;
    for (std::size_t i = 0; i < k.height * k.width; ++i) {
      const std::size_t at = column * k.stride_width + i % k.width * k.dilation_width - k.pad_left;
      pixels[i] = at < s.w ? seen[i / k.width] + at * s.c : zeros;
    }
    kernels.convolve_pixels(pixels.data(), k.height * k.width, s.c, w, bias, y, range);
  }

  const patch_convolution<T>* c_;
};

}  // namespace glia::cpu_loops
