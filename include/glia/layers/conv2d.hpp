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

/// What a kernel's window looks like on these images; throws if it does not fit.
template <backend B>
[[nodiscard]] window2d kernel_window(const scope<B>& s, const shape& x, extent2d kernel,
                                     extent2d stride, extent2d dilation, const padding2d& padding) {
  s.expect(x.rank() == 4, "expected images (N, H, W, C), got ", batch_text(x),
           "; add reshape{{H, W, C}} before it");
  if (kernel.height > 1 || kernel.width == 1) {  // not along rows alone, which are not taken for
    s.expect_channels_last(x);                   // channels then
  }
  s.expect_value(!(kernel == 0), "expected a kernel; give .kernel = 3, or 1 for one of 1x1");
  s.expect_value(kernel.height > 0 && kernel.width > 0 && stride.height > 0 && stride.width > 0 &&
                     dilation.height > 0 && dilation.width > 0,
                 "expected filters, kernel, stride and dilation of at least 1");
  const window2d window = resolve_window(x, kernel, stride, dilation, padding);
  s.expect_value(within_largest_window(window),
                 "expected a kernel, stride, dilation and padding of "
                 "at most ",
                 largest_window);
  s.expect(
      x[1] + window.pad_top + window.pad_bottom >= (kernel.height - 1) * dilation.height + 1 &&
          x[2] + window.pad_left + window.pad_right >= (kernel.width - 1) * dilation.width + 1,
      "the kernel is larger than the padded input ", batch_text(x),
      "; images are (N, H, W, C), channels last; if these are, use a smaller kernel or padding "
      "same");
  return window;
}

}  // namespace detail

/// A convolution of images: y = activation(x * kernel + bias), x (N, H, W, C), kernel
/// (height, width, C / groups, O), bias (O). As everywhere in neural networks it is a
/// cross-correlation: the kernel is not mirrored.
///
/// Throws `shape_error` for inputs that are no images or smaller than the kernel, and for samples
/// that look like images with their channels first (see scope::expect_channels_last); `value_error`
/// for a kernel that is not given, sizes of 0, and groups that do not divide the channels.
struct conv2d {
  std::size_t filters = 0;  ///< O, at least 1
  extent2d kernel = 0;      ///< rows and columns, at least 1 each
  extent2d stride = 1;
  padding2d padding = valid;
  extent2d dilation = 1;
  std::size_t groups = 1;  ///< C for a depthwise convolution
  glia::activation activation = linear;
  bool bias = true;
  initializer kernel_initializer = glorot_uniform();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "conv2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const window2d window = window_on(s, x.shape());
    const auto [weights, shift] = parameters(s, x.shape()[3]);
    return activation.apply(ops::conv2d(x, weights, shift, window, groups));
  }

  [[nodiscard]] constexpr output_kind gives() const { return activation.gives(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("conv2d(", filters, ", ", kernel, ", ", padding);
    result += stride == 1 ? "" : text(", stride ", stride);
    result += dilation == 1 ? "" : text(", dilation ", dilation);
    result += groups == 1 ? "" : text(", ", groups, " groups");
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  friend bool operator==(const conv2d&, const conv2d&) = default;

 private:
  template <backend B>
  struct variables {
    variable<B> kernel;
    std::optional<variable<B>> bias;
  };

  template <backend B>
  [[nodiscard]] variables<B> parameters(scope<B>& s, std::size_t channels) const {
    variables<B> result{
        s.parameter("kernel", {kernel.height, kernel.width, channels / groups, filters},
                    kernel_initializer),
        {}};
    if (bias) {
      result.bias = s.parameter("bias", {filters}, bias_initializer);
    }
    return result;
  }

  /// What the kernel's window looks like on these images; throws if it does not fit.
  template <backend B>
  [[nodiscard]] window2d window_on(const scope<B>& s, const shape& x) const {
    const window2d window = detail::kernel_window(s, x, kernel, stride, dilation, padding);
    s.expect_value(filters > 0, "expected filters, kernel, stride and dilation of at least 1");
    s.expect_value(filters > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 filter is always 1; use sigmoid, or 2 filters");
    s.expect_value(groups > 0 && x[3] % groups == 0 && filters % groups == 0, "groups (", groups,
                   ") must divide the input's channels (", x[3], ") and the filters (", filters,
                   ")");
    return window;
  }
};

}  // namespace glia
