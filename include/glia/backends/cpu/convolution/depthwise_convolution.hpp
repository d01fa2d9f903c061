#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"

namespace glia::cpu_loops {

/// The addresses of the input rows for some output rows, in the format of `convolve_channels`:
/// first all rows of the first window, then all rows of the next window.
template <class T>
class seen_rows {
 public:
  /// `row_at(y)` returns the address of input row y. It is also called for rows outside the image.
  template <class RowAt>
  seen_rows(const kernels::window_sizes& s, std::size_t first, std::size_t rows,
            const RowAt& row_at) {
    const window2d& k = s.window;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t tap = 0; tap < k.height; ++tap) {
        rows_[r * k.height + tap] =
            row_at((first + r) * k.stride_height + tap * k.dilation_height - k.pad_top);
      }
    }
  }

  /// Returns the largest number of output rows that the list can hold.
  [[nodiscard]] static std::size_t max_rows(const kernels::window_sizes& s) {
    return size / s.window.height;
  }

  [[nodiscard]] const T* const* data() const { return rows_.data(); }

 private:
  static constexpr std::size_t size = 8 * kernels::max_window_rows;
  std::array<const T*, size> rows_;  // only the elements in use are set
};

/// Convolutions that filter each channel separately. The elements of a vector are different
/// channels.
template <class T>
class depthwise_convolution {
 public:
  static bool applies(const kernels::window_sizes& s) {
    return s.groups > 1 && s.group_inputs() == 1 && s.group_outputs() == 1 &&
           s.window.height <= kernels::max_window_rows;
  }

  explicit depthwise_convolution(const patch_convolution<T>& c) : c_(&c) {}

  /// Returns the number of output rows in a band. The input panel of a band takes an eighth of a
  /// second-level cache, and the list of input rows has room for the band.
  template <class Loops>
  [[nodiscard]] std::size_t rows_per_band(const Loops& loops) const {
    const std::size_t max_rows = std::min(c_->sizes().oh, seen_rows<T>::max_rows(c_->sizes()));
    std::size_t rows = 1;
    while (rows < max_rows && scratch_size(loops, rows + 1) * sizeof(T) <= panel_bytes) {
      ++rows;
    }
    return rows;
  }
  /// Returns the number of elements of scratch memory that `forward` needs.
  template <class Loops>
  [[nodiscard]] std::size_t scratch_size(const Loops&, std::size_t rows) const {
    return c_->image().band(0, rows).input_rows * c_->image().row_size() / c_->sizes().c *
           Loops::template panel_width<T>;
  }

  /// Computes y (rows, OW, C) for a band of at most rows_per_band() rows, with clamped results. x
  /// is the image, w is (height, width, 1, C), and bias is (C) or null. Channels are copied from
  /// the image panel by panel, with padding. In the image, the pixels of a panel are too far apart
  /// for a cache.
  template <class Loops>
  void forward(const Loops& loops, const T* x, const row_band& band, const T* w, const T* bias,
               T* y, const clamp_range<T>& range, T* scratch) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    const kernels::window_sizes& s = c_->sizes();
    const window2d& k = s.window;
    const std::size_t top = band.first * k.stride_height - k.pad_top;  // may wrap around
    const std::size_t row_size = c_->image().row_size() / s.c * width;
    const std::size_t channels = std::min(width, s.c);
    std::fill_n(scratch, band.input_rows * row_size, T{0});  // padding keeps the zeros
    const seen_rows<T> row_pointers(s, band.first, band.rows, [&](std::size_t row) {
      return scratch + (row - top) * row_size;
    });
    for (std::size_t panel = 0; panel < s.c; panel += width) {
      // The last panel overlaps the panel before it and computes some results again.
      const std::size_t first = std::min(panel, s.c - channels);
      for (std::size_t row = 0; row < band.input_rows; ++row) {
        if (top + row < s.h) {
          gather(loops, x + (top + row) * s.w * s.c + first, channels,
                 scratch + row * row_size + k.pad_left * width);
        }
      }
      loops.convolve_channels(
          depthwise_rows{band.rows, s.ow, channels, k.height, k.width, k.stride_width,
                         k.dilation_width, s.c, s.c, s.ow * s.c},
          row_pointers.data(), w + first, bias == nullptr ? nullptr : bias + first, y + first,
          range);
    }
  }

  /// Returns the number of additions to report to the sums for one part. The products of a part
  /// continue the current chains. With this number, a chain has at most blas_chain products, plus
  /// the products of one part.
  [[nodiscard]] static std::size_t additions_of(const patch_grid& part) {
    constexpr std::size_t products = detail::blas_chain / detail::chains_in_total;
    return (part.count() + products - 1) / products;
  }

  /// Adds the contribution of a band to dw (height, width, 1, C).
  template <class Loops, class Sums>
  void add_kernel_gradient(const Loops& loops, const T* x, const row_band& band, const T* dy,
                           Sums& sums) const {
    const std::size_t channels = c_->sizes().c;
    c_->image().grid(band).for_parts(
        [&](const patch_grid& part, std::size_t offset, std::size_t pixel) {
          // Passes of nearly equal length: a pass with one sum would wait for each addition.
          const std::size_t depth = c_->depth();
          const std::size_t passes = (depth + max_kernel_sums - 1) / max_kernel_sums;
          for (std::size_t pass = 0; pass < passes; ++pass) {
            const std::size_t first = pass * depth / passes;
            const std::size_t end = (pass + 1) * depth / passes;
            loops.add_channel_kernel_gradient(x + offset, part, c_->offsets() + first, end - first,
                                              dy + pixel * channels, channels,
                                              sums.data() + first * channels);
          }
          sums.added(additions_of(part));
        });
  }

  /// Adds the gradients dy to all elements of their patches in dx (the padded rows of the band).
  template <class Loops>
  void add_input_gradient(const Loops& loops, const T* dy, const row_band& band, const T* w,
                          T* dx) const {
    const patch_grid grid = c_->image().grid(band);
    const std::size_t channels = c_->sizes().c;
    for (std::size_t row = 0; row < grid.rows; ++row) {
      for (std::size_t column = 0; column < grid.columns; ++column, dy += channels) {
        T* const patch = dx + row * grid.row_step + column * grid.column_step;
        for (std::size_t k = 0; k < c_->depth(); ++k) {
          loops.add_product(w + k * channels, dy, patch + c_->offsets()[k], channels);
        }
      }
    }
  }

 private:
  static constexpr std::size_t panel_bytes = 64 << 10;

  /// Copies the channels of one panel from a row of the image.
  template <class Loops>
  void gather(const Loops& loops, const T* x, std::size_t channels, T* target) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    const kernels::window_sizes& s = c_->sizes();
    if (channels == width) {
      loops.gather_panel(x, s.w, s.c, target);
      return;
    }
    for (std::size_t column = 0; column < s.w; ++column) {
      std::copy_n(x + column * s.c, channels, target + column * width);
    }
  }

  const patch_convolution<T>* c_;
};

}  // namespace glia::cpu_loops
