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

/// x with each channel by kernels of its own, (height, width, C, M): channel c gives c M ... c M +
/// M - 1.
template <backend B>
[[nodiscard]] variable<B> depthwise(const variable<B>& x, const variable<B>& kernel,
                                    const std::optional<variable<B>>& bias,
                                    const window2d& window) {
  const shape k = kernel.shape();
  return ops::conv2d(x, ops::reshape(kernel, {k[0], k[1], 1, k[2] * k[3]}), bias, window, k[2]);
}

}  // namespace detail

/// A convolution of each channel on its own: y = activation(x * kernel + bias), x (N, H, W, C),
/// kernel (height, width, C, M), y (N, H', W', C M).
///
/// Throws as `conv2d` does.
struct depthwise_conv2d {
  extent2d kernel = 0;  ///< rows and columns, at least 1 each
  extent2d stride = 1;
  padding2d padding = valid;
  extent2d dilation = 1;
  std::size_t multiplier = 1;  ///< M, outputs of each channel
  glia::activation activation = linear;
  bool bias = true;
  initializer kernel_initializer = glorot_uniform();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "depthwise_conv2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const window2d window = detail::kernel_window(s, x.shape(), kernel, stride, dilation, padding);
    const std::size_t channels = x.shape()[3];
    s.expect_value(multiplier > 0, "expected a multiplier of at least 1");
    const variable<B> weights = s.parameter(
        "kernel", {kernel.height, kernel.width, channels, multiplier}, kernel_initializer);
    std::optional<variable<B>> shift;
    if (bias) {
      shift = s.parameter("bias", {channels * multiplier}, bias_initializer);
    }
    return activation.apply(detail::depthwise(x, weights, shift, window));
  }

  [[nodiscard]] constexpr output_kind gives() const { return activation.gives(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("depthwise_conv2d(", kernel, ", ", padding);
    result += stride == 1 ? "" : text(", stride ", stride);
    result += dilation == 1 ? "" : text(", dilation ", dilation);
    result += multiplier == 1 ? "" : text(", multiplier ", multiplier);
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  friend bool operator==(const depthwise_conv2d&, const depthwise_conv2d&) = default;
};

/// A convolution of each channel on its own, and then one of 1x1 that mixes them: y =
/// activation((x * depthwise_kernel) * pointwise_kernel + bias), x (N, H, W, C), kernels
/// (height, width, C, M) and (1, 1, C M, O), bias (O). Chollet, CVPR 2017.
///
/// Throws as `conv2d` does.
struct separable_conv2d {
  std::size_t filters = 0;  ///< O, at least 1
  extent2d kernel = 0;      ///< rows and columns, at least 1 each
  extent2d stride = 1;
  padding2d padding = valid;
  extent2d dilation = 1;
  std::size_t multiplier = 1;  ///< M, outputs of each channel in between
  glia::activation activation = linear;
  bool bias = true;
  initializer depthwise_initializer = glorot_uniform();
  initializer pointwise_initializer = glorot_uniform();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "separable_conv2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const window2d window = detail::kernel_window(s, x.shape(), kernel, stride, dilation, padding);
    const std::size_t channels = x.shape()[3];
    s.expect_value(filters > 0 && multiplier > 0, "expected filters and multiplier of at least 1");
    s.expect_value(filters > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 filter is always 1; use sigmoid, or 2 filters");
    const variable<B> each =
        s.parameter("depthwise_kernel", {kernel.height, kernel.width, channels, multiplier},
                    depthwise_initializer);
    const variable<B> mixing = s.parameter(
        "pointwise_kernel", {1, 1, channels * multiplier, filters}, pointwise_initializer);
    std::optional<variable<B>> shift;
    if (bias) {
      shift = s.parameter("bias", {filters}, bias_initializer);
    }
    const std::optional<variable<B>> none;
    return activation.apply(
        ops::conv2d(detail::depthwise(x, each, none, window), mixing, shift, window2d{}));
  }

  [[nodiscard]] constexpr output_kind gives() const { return activation.gives(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("separable_conv2d(", filters, ", ", kernel, ", ", padding);
    result += stride == 1 ? "" : text(", stride ", stride);
    result += dilation == 1 ? "" : text(", dilation ", dilation);
    result += multiplier == 1 ? "" : text(", multiplier ", multiplier);
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  friend bool operator==(const separable_conv2d&, const separable_conv2d&) = default;
};

}  // namespace glia
