#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/conv2d.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Convolves each channel of x with its own M kernels; `kernel` is (height, width, C, M). Input
/// channel c results in the output channels c M to c M + M - 1.
[[nodiscard]] inline variable depthwise(const variable& x, const variable& kernel,
                                        const std::optional<variable>& bias,
                                        const window2d& window) {
  const shape k = kernel.shape();
  return ops::conv2d(x, ops::reshape(kernel, {k[0], k[1], 1, k[2] * k[3]}), bias, window, k[2]);
}

}  // namespace detail

/// A depthwise convolution of images: each channel is convolved separately.
///
///     y = activation(x * kernel + bias)
///
/// The input is (N, H, W, C): N samples, H rows, W columns, C channels. The output is
/// (N, H', W', C M) with M = `depth_multiplier`; H' and W' are the same as for `conv2d`. Input
/// channel c results in the output channels c M to c M + M - 1. The parameters are `kernel` (kernel
/// rows, kernel columns, C, M) and `bias` (C M).
///
/// Throws `shape_error` if the input does not have four axes, if the padded input is smaller than
/// the kernel, or if the samples look like images with channels first. Throws `value_error` if
/// `kernel_size` is missing or a size is 0.
struct depthwise_conv2d {
  /// Rows and columns of the kernel, at least 1 each; one number sets both. Required.
  extent2d kernel_size = 0;
  /// Rows and columns from one kernel position to the next, at least 1; one number sets both.
  extent2d strides = 1;
  /// Zeros around the images: `valid` (none), `same` (for an output of ceil(size / strides) rows
  /// and columns), a number of rows and columns for each side, or {top, bottom, left, right}.
  padding2d padding = valid;
  /// Distance between neighboring kernel elements in the image, at least 1; 1 means no gaps.
  extent2d dilation_rate = 1;
  std::size_t depth_multiplier = 1;      ///< Number M of output channels for each input channel.
  glia::activation activation = linear;  ///< Activation function of the output.
  bool use_bias = true;                  ///< Whether a bias is added.
  initializer depthwise_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer bias_initializer = constant(0);            ///< Initial values of the bias.

  static constexpr std::string_view type_name = "depthwise_conv2d";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    const window2d window =
        detail::kernel_window(s, x.shape(), kernel_size, strides, dilation_rate, padding);
    const std::size_t channels = x.shape()[3];
    s.expect_value(depth_multiplier > 0, "expected a depth_multiplier of at least 1");
    const variable weights =
        s.parameter("kernel", {kernel_size.height, kernel_size.width, channels, depth_multiplier},
                    depthwise_initializer);
    std::optional<variable> shift;
    if (use_bias) {
      shift = s.parameter("bias", {channels * depth_multiplier}, bias_initializer);
    }
    return activation(detail::depthwise(x, weights, shift, window));
  }

  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("depthwise_conv2d(", kernel_size, ", ", padding);
    result += strides == 1 ? "" : text(", stride ", strides);
    result += dilation_rate == 1 ? "" : text(", dilation ", dilation_rate);
    result += depth_multiplier == 1 ? "" : text(", multiplier ", depth_multiplier);
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("kernel_size", self.kernel_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
    visit("dilation_rate", self.dilation_rate);
    visit("depth_multiplier", self.depth_multiplier);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
  }

  friend bool operator==(const depthwise_conv2d&, const depthwise_conv2d&) = default;
};

/// A separable convolution of images: a depthwise convolution, followed by a 1x1 convolution.
///
///     y = activation((x * depthwise_kernel) * pointwise_kernel + bias)
///
/// The input is (N, H, W, C): N samples, H rows, W columns, C channels. The output is
/// (N, H', W', O) with O = `filters`; H' and W' are the same as for `conv2d`. With
/// M = `depth_multiplier`, the parameters are `depthwise_kernel` (kernel rows, kernel columns, C,
/// M), `pointwise_kernel` (1, 1, C M, O) and `bias` (O). Chollet, CVPR 2017.
///
/// Throws `shape_error` if the input does not have four axes, if the padded input is smaller than
/// the kernel, or if the samples look like images with channels first. Throws `value_error` if
/// `filters` or `kernel_size` is missing or a size is 0.
struct separable_conv2d {
  std::size_t filters = 0;  ///< Number of output channels O, at least 1. Required.
  /// Rows and columns of the depthwise kernel, at least 1 each; one number sets both. Required.
  extent2d kernel_size = 0;
  /// Rows and columns from one kernel position to the next, at least 1; one number sets both.
  extent2d strides = 1;
  /// Zeros around the images: `valid` (none), `same` (for an output of ceil(size / strides) rows
  /// and columns), a number of rows and columns for each side, or {top, bottom, left, right}.
  padding2d padding = valid;
  /// Distance between neighboring kernel elements in the image, at least 1; 1 means no gaps.
  extent2d dilation_rate = 1;
  /// Number M of depthwise output channels for each input channel, at least 1.
  std::size_t depth_multiplier = 1;
  glia::activation activation = linear;                  ///< Activation function of the output.
  bool use_bias = true;                                  ///< Whether a bias is added.
  initializer depthwise_initializer = glorot_uniform();  ///< Initial values of depthwise_kernel.
  initializer pointwise_initializer = glorot_uniform();  ///< Initial values of pointwise_kernel.
  initializer bias_initializer = constant(0);            ///< Initial values of the bias.

  static constexpr std::string_view type_name = "separable_conv2d";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    const window2d window =
        detail::kernel_window(s, x.shape(), kernel_size, strides, dilation_rate, padding);
    const std::size_t channels = x.shape()[3];
    s.expect_value(filters > 0 && depth_multiplier > 0,
                   "expected filters and depth_multiplier of at least 1");
    s.expect_value(filters > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 filter is always 1; use sigmoid, or at least 2 filters");
    const variable depthwise_weights = s.parameter(
        "depthwise_kernel", {kernel_size.height, kernel_size.width, channels, depth_multiplier},
        depthwise_initializer);
    const variable pointwise_weights = s.parameter(
        "pointwise_kernel", {1, 1, channels * depth_multiplier, filters}, pointwise_initializer);
    std::optional<variable> shift;
    if (use_bias) {
      shift = s.parameter("bias", {filters}, bias_initializer);
    }
    const std::optional<variable> no_bias;
    return activation(ops::conv2d(detail::depthwise(x, depthwise_weights, no_bias, window),
                                  pointwise_weights, shift, window2d{}));
  }

  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("separable_conv2d(", filters, ", ", kernel_size, ", ", padding);
    result += strides == 1 ? "" : text(", stride ", strides);
    result += dilation_rate == 1 ? "" : text(", dilation ", dilation_rate);
    result += depth_multiplier == 1 ? "" : text(", multiplier ", depth_multiplier);
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
    visit("depth_multiplier", self.depth_multiplier);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
  }

  friend bool operator==(const separable_conv2d&, const separable_conv2d&) = default;
};

}  // namespace glia
