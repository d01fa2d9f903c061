#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/pooling.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/products.hpp"

namespace glia {

namespace detail {

/// Returns the window of the kernel, with the padding as numbers of rows and columns. Throws
/// `value_error` if an option is invalid, and `shape_error` if the window does not fit the padded
/// images.
[[nodiscard]] inline window2d kernel_window(const scope& s, const shape& x, extent2d kernel_size,
                                            extent2d strides, extent2d dilation_rate,
                                            const padding2d& padding) {
  s.expect(x.rank() == 4, "expected images (N, H, W, C), got ", batch_text(x),
           "; add reshape{{H, W, C}} before it");
  // A kernel with one row and several columns is for sequences. They have a single row, which is
  // not a channel axis.
  if (kernel_size.height > 1 || kernel_size.width == 1) {
    s.expect_channels_last(x);
  }
  s.expect_value(!(kernel_size == 0),
                 "expected a kernel_size, got 0; write .kernel_size = 3, or 1 for a 1x1 kernel");
  s.expect_value(kernel_size.height > 0 && kernel_size.width > 0 && strides.height > 0 &&
                     strides.width > 0 && dilation_rate.height > 0 && dilation_rate.width > 0,
                 "expected filters, kernel_size, strides and dilation_rate of at least 1");
  const window2d window = resolve_window(x, kernel_size, strides, dilation_rate, padding);
  s.expect_value(within_largest_window(window),
                 "expected kernel_size, strides, dilation_rate and padding of "
                 "at most ",
                 largest_window);
  s.expect(x[1] + window.pad_top + window.pad_bottom >=
                   (kernel_size.height - 1) * dilation_rate.height + 1 &&
               x[2] + window.pad_left + window.pad_right >=
                   (kernel_size.width - 1) * dilation_rate.width + 1,
           "the kernel is larger than the padded input ", batch_text(x),
           "; use a smaller kernel or .padding = same, and check that the images are (N, H, W, C), "
           "channels last");
  return window;
}

}  // namespace detail

/// A two-dimensional convolution of images.
///
///     y = activation(x * kernel + bias)
///
/// The input x is (N, H, W, C): N samples, H rows, W columns, C channels. The output y is
/// (N, H', W', O) with O = `filters`. The parameters are `kernel` (kernel rows, kernel columns, C /
/// groups, O) and `bias` (O). As in Keras and PyTorch, the operation * is a cross-correlation: the
/// kernel is not mirrored.
///
/// The kernel spans R = (kernel rows - 1) * dilation_rate + 1 rows. The number of output rows H' is
/// ceil(H / strides) for padding `same`, and otherwise floor((H + padding above and below - R) /
/// strides) + 1. The formula for the columns W' is the same.
///
/// Throws `shape_error` if the input does not have four axes, if the padded input is smaller than
/// the kernel, or if the samples look like images with channels first (see
/// `scope::expect_channels_last`). Throws `value_error` if `filters` or `kernel_size` is missing,
/// if a size is 0, or if `groups` does not divide the input's channels and the filters.
struct conv2d {
  std::size_t filters = 0;  ///< Number of output channels O, at least 1. Required.
  /// Rows and columns of the kernel, at least 1 each; one number sets both. Required.
  extent2d kernel_size = 0;
  /// Rows and columns from one kernel position to the next, at least 1; one number sets both.
  extent2d strides = 1;
  /// Zeros around the images: `valid` (none), `same` (for an output of ceil(size / strides) rows
  /// and columns), a number of rows and columns for each side, or {top, bottom, left, right}.
  padding2d padding = valid;
  /// Distance between neighboring kernel elements in the image, at least 1; 1 means no gaps. Unlike
  /// in Keras, it can be combined with strides.
  extent2d dilation_rate = 1;
  /// Number of groups of channels that are convolved separately, at least 1; C groups make a
  /// depthwise convolution. It must divide both the number of input channels and `filters`.
  std::size_t groups = 1;
  glia::activation activation = linear;               ///< Activation function of the output.
  bool use_bias = true;                               ///< Whether a bias is added.
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer bias_initializer = constant(0);         ///< Initial values of the bias.

  static constexpr std::string_view type_name = "conv2d";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    const window2d window = window_on(s, x.shape());
    const auto [weights, shift] = parameters(s, x.shape()[3]);
    return activation(ops::conv2d(x, weights, shift, window, groups));
  }

  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("conv2d(", filters, ", ", kernel_size, ", ", padding);
    result += strides == 1 ? "" : text(", stride ", strides);
    result += dilation_rate == 1 ? "" : text(", dilation ", dilation_rate);
    result += groups == 1 ? "" : text(", ", groups, " groups");
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("filters", self.filters);
    visit("kernel_size", self.kernel_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
    visit("dilation_rate", self.dilation_rate);
    visit("groups", self.groups);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
  }

  friend bool operator==(const conv2d&, const conv2d&) = default;

 private:
  struct variables {
    variable kernel;
    std::optional<variable> bias;
  };

  [[nodiscard]] variables parameters(scope& s, std::size_t channels) const {
    variables result{
        s.parameter("kernel", {kernel_size.height, kernel_size.width, channels / groups, filters},
                    kernel_initializer),
        {}};
    if (use_bias) {
      result.bias = s.parameter("bias", {filters}, bias_initializer);
    }
    return result;
  }

  /// Checks the options and returns the window, with the padding as numbers of rows and columns.
  /// Throws `value_error` if an option is invalid.
  [[nodiscard]] window2d window_on(const scope& s, const shape& x) const {
    const window2d window =
        detail::kernel_window(s, x, kernel_size, strides, dilation_rate, padding);
    s.expect_value(filters > 0,
                   "expected filters, kernel_size, strides and dilation_rate of at least 1");
    s.expect_value(filters > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 filter is always 1; use sigmoid, or at least 2 filters");
    s.expect_value(groups > 0 && x[3] % groups == 0 && filters % groups == 0, "groups (", groups,
                   ") must divide the input's channels (", x[3], ") and the filters (", filters,
                   ")");
    return window;
  }
};

}  // namespace glia
