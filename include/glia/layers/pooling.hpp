#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/pooling.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Returns the window of a pooling layer, with the padding as numbers of rows and columns. Throws
/// `value_error` if an option is invalid, and `shape_error` if the window does not fit the padded
/// images.
[[nodiscard]] inline window2d pool_window(const scope& s, const shape& x, extent2d size,
                                          extent2d strides, const padding2d& padding) {
  s.expect(x.rank() == 4, "expected images (N, H, W, C), got ", batch_text(x));
  // A window of one row and several columns is for sequences, as in conv2d.
  if (size.height > 1 || size.width == 1) {
    s.expect_channels_last(x);
  }
  s.expect_value(size.height > 0 && size.width > 0, "expected a pool_size of at least 1x1, got ",
                 size);
  const extent2d step{strides.height == 0 ? size.height : strides.height,
                      strides.width == 0 ? size.width : strides.width};
  const window2d window = resolve_window(x, size, step, 1, padding);
  s.expect_value(within_largest_window(window),
                 "expected pool_size, strides and padding of at most ", largest_window);
  s.expect(
      x[1] + window.pad_top + window.pad_bottom >= size.height &&
          x[2] + window.pad_left + window.pad_right >= size.width,
      "the window is larger than the padded input ", batch_text(x),
      "; use a smaller pool_size or .padding = same, and check that the images are (N, H, W, C), "
      "channels last");
  s.expect_value(window.pad_top < size.height && window.pad_bottom < size.height &&
                     window.pad_left < size.width && window.pad_right < size.width,
                 "expected padding smaller than the pool_size, got ", padding,
                 "; otherwise a window could lie entirely in the padding");
  return window;
}

[[nodiscard]] inline std::string describe_pool(std::string_view name, extent2d size,
                                               extent2d strides, const padding2d& padding) {
  return text(name, '(', size, ", ", padding,
              strides == 0 || strides == size ? "" : text(", stride ", strides), ')');
}

}  // namespace detail

/// Max pooling of images: the output holds the maximum of each window.
///
/// The input is (N, H, W, C) and the output (N, H', W', C). H' is ceil(H / stride) for padding
/// `same`, and otherwise floor((H + padding above and below - window rows) / stride) + 1. The
/// formula for the columns W' is the same. Padding is never the maximum.
///
/// Throws `shape_error` if the input does not have four axes, if the padded input is smaller than
/// the window, or if the samples look like images with channels first. Throws `value_error` if
/// `pool_size` is 0 or the padding is not smaller than the window.
struct max_pool2d {
  extent2d pool_size = 2;  ///< Rows and columns of the window, at least 1; one number sets both.
  /// Rows and columns from one window to the next; 0 means the size of the window.
  extent2d strides = 0;
  /// Padding around the images: `valid` (none), `same` (for an output of ceil(size / stride) rows
  /// and columns), a number of rows and columns for each side, or {top, bottom, left, right}.
  padding2d padding = valid;

  static constexpr std::string_view type_name = "max_pool2d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const window2d w = window_on(s, x.shape());
    return ops::max_pool2d(std::move(x), w);
  }
  /// Returns the window for images of shape x, with the padding as numbers of rows and columns.
  /// Throws `value_error` if an option is invalid, and `shape_error` if the window does not fit the
  /// padded images.
  [[nodiscard]] window2d window_on(const scope& s, const shape& x) const {
    return detail::pool_window(s, x, pool_size, strides, padding);
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool(type_name, pool_size, strides, padding);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("pool_size", self.pool_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
  }

  friend bool operator==(const max_pool2d&, const max_pool2d&) = default;
};

/// Average pooling of images: the output holds the mean of each window.
///
/// The input is (N, H, W, C) and the output (N, H', W', C). H' is ceil(H / stride) for padding
/// `same`, and otherwise floor((H + padding above and below - window rows) / stride) + 1. The
/// formula for the columns W' is the same. Means exclude padding, as in Keras; PyTorch includes it
/// by default.
///
/// Throws `shape_error` if the input does not have four axes, if the padded input is smaller than
/// the window, or if the samples look like images with channels first. Throws `value_error` if
/// `pool_size` is 0 or the padding is not smaller than the window.
struct avg_pool2d {
  extent2d pool_size = 2;  ///< Rows and columns of the window, at least 1; one number sets both.
  /// Rows and columns from one window to the next; 0 means the size of the window.
  extent2d strides = 0;
  /// Padding around the images: `valid` (none), `same` (for an output of ceil(size / stride) rows
  /// and columns), a number of rows and columns for each side, or {top, bottom, left, right}.
  padding2d padding = valid;

  static constexpr std::string_view type_name = "avg_pool2d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const window2d w = detail::pool_window(s, x.shape(), pool_size, strides, padding);
    return ops::avg_pool2d(std::move(x), w);
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool(type_name, pool_size, strides, padding);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("pool_size", self.pool_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
  }

  friend bool operator==(const avg_pool2d&, const avg_pool2d&) = default;
};

/// Global max pooling of images: the maximum of each channel over all positions.
///
/// The input is (N, H, W, C) and the output (N, C). Throws `shape_error` if the input does not have
/// four axes.
struct global_max_pool2d {
  static constexpr std::string_view type_name = "global_max_pool2d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() == 4, "expected images (N, H, W, C), got ", batch_text(extents));
    const window2d whole{.height = extents[1], .width = extents[2]};
    return ops::reshape(ops::max_pool2d(std::move(x), whole), {extents[0], extents[3]});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_max_pool2d&, const global_max_pool2d&) = default;
};

/// Global average pooling of images: the mean of each channel over all positions.
///
/// The input is (N, H, W, C) and the output (N, C). Throws `shape_error` if the input does not have
/// four axes.
struct global_avg_pool2d {
  static constexpr std::string_view type_name = "global_avg_pool2d";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() == 4, "expected images (N, H, W, C), got ", batch_text(x.shape()));
    return ops::mean(x, {1, 2});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_avg_pool2d&, const global_avg_pool2d&) = default;
};

}  // namespace glia
