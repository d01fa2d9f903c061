#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/loops/patch_grid.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// Consecutive output rows of an image, and the padded input rows that they read.
struct row_band {
  std::size_t first;       ///< First output row.
  std::size_t rows;        ///< Number of output rows.
  std::size_t input_rows;  ///< Number of padded input rows, beginning at row first * stride.
};

/// The geometry of a convolution whose padding is part of the image.
class padded_image {
 public:
  /// `chain` is the number of patches whose products one sum of a gradient adds.
  explicit padded_image(const kernels::window_sizes& s, std::size_t chain = detail::product_chain)
      : s_(&s), width_(s.w + s.window.pad_left + s.window.pad_right), chain_(chain) {}

  [[nodiscard]] std::size_t row_size() const { return width_ * s_->c; }

  [[nodiscard]] row_band band(std::size_t first, std::size_t rows) const {
    const window2d& k = s_->window;
    return {first, rows, (rows - 1) * k.stride_height + (k.height - 1) * k.dilation_height + 1};
  }
  [[nodiscard]] patch_grid grid(const row_band& band) const {
    return {band.rows, s_->ow, s_->window.stride_height * row_size(),
            s_->window.stride_width * s_->c, chain_};
  }

  /// Writes the offsets within a patch of one group, in the order of the rows of the kernel
  /// (height, width, C / groups, O).
  void patch_offsets(std::uint32_t* offset) const {
    const window2d& k = s_->window;
    for (std::size_t ky = 0; ky < k.height; ++ky) {
      for (std::size_t kx = 0; kx < k.width; ++kx) {
        for (std::size_t c = 0; c < s_->group_inputs(); ++c) {
          *offset++ = static_cast<std::uint32_t>(ky * k.dilation_height * row_size() +
                                                 kx * k.dilation_width * s_->c + c);
        }
      }
    }
  }

  /// Returns whether the rows of an image can be read in place.
  [[nodiscard]] bool unpadded() const { return !kernels::is_padded(s_->window); }

  /// Returns the input rows of a band of image x. Without padding, these rows are in x itself; with
  /// padding, they are a copy in `scratch` with zeros around it.
  template <class T>
  [[nodiscard]] const T* read(const T* x, const row_band& band, T* scratch) const {
    const window2d& k = s_->window;
    if (unpadded()) {
      return x + band.first * k.stride_height * row_size();
    }
    for (std::size_t row = 0; row < band.input_rows; ++row) {
      T* target = scratch + row * row_size();
      const std::size_t source = source_row(band, row);
      if (source >= s_->h) {
        std::fill_n(target, row_size(), T{0});
        continue;
      }
      target = std::fill_n(target, k.pad_left * s_->c, T{0});
      target = std::copy_n(x + source * s_->w * s_->c, s_->w * s_->c, target);
      std::fill_n(target, k.pad_right * s_->c, T{0});
    }
    return scratch;
  }

  /// Returns the row of the image that a row of a band shows. If the row is padding, the result is
  /// not less than the height of the image.
  [[nodiscard]] std::size_t source_row(const row_band& band, std::size_t row) const {
    // Wraps around above the image.
    return band.first * s_->window.stride_height + row - s_->window.pad_top;
  }

  /// Adds the rows in `scratch`, in the layout of `read`, to the image dx. The first `covered` rows
  /// of dx already hold sums; the remaining rows are uninitialized. Returns the new `covered`.
  template <class Loops, class T>
  [[nodiscard]] std::size_t add(const Loops& loops, const T* scratch, const row_band& band,
                                std::size_t covered, T* dx) const {
    const window2d& k = s_->window;
    const std::size_t row_elements = s_->w * s_->c;
    for (std::size_t row = 0; row < band.input_rows; ++row) {
      const std::size_t target = band.first * k.stride_height + row - k.pad_top;
      const T* source = scratch + row * row_size() + k.pad_left * s_->c;
      if (target >= s_->h) {
        continue;
      }
      if (target < covered) {
        loops.add(source, dx + target * row_elements, row_elements);
        continue;
      }
      clear(dx, covered, target);
      std::copy_n(source, row_elements, dx + target * row_elements);
      covered = target + 1;
    }
    return covered;
  }

  /// Fills the image's rows from `first` up to `end` with zeros.
  template <class T>
  void clear(T* dx, std::size_t first, std::size_t end) const {
    std::fill_n(dx + first * s_->w * s_->c, (end - first) * s_->w * s_->c, T{0});
  }

 private:
  const kernels::window_sizes* s_;
  std::size_t width_;
  std::size_t chain_;
};

}  // namespace glia::cpu_loops
