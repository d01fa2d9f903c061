#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/window1d.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// A convolution of sequences: y = activation(x * kernel + bias), x (N, T, C), kernel
/// (steps, C / groups, O), bias (O). The kernel is not mirrored. With padding `causal` an output
/// depends on no later step.
///
/// Throws `shape_error` for inputs that are no sequences or shorter than the kernel, `value_error`
/// for a kernel that is not given, sizes of 0, and groups that do not divide the channels.
struct conv1d {
  std::size_t filters = 0;  ///< O, at least 1
  std::size_t kernel = 0;   ///< steps, at least 1
  std::size_t stride = 1;
  padding1d padding = valid;
  std::size_t dilation = 1;
  std::size_t groups = 1;
  glia::activation activation = linear;
  bool bias = true;
  initializer kernel_initializer = glorot_uniform();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "conv1d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    const window2d window =
        detail::window_on_row(s, in, "kernel", kernel, stride, dilation, padding);
    s.expect_value(filters > 0, "expected at least 1 filter");
    s.expect_value(filters > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 filter is always 1; use sigmoid, or 2 filters");
    s.expect_value(groups > 0 && in[2] % groups == 0 && filters % groups == 0, "groups (", groups,
                   ") must divide the input's channels (", in[2], ") and the filters (", filters,
                   ")");
    const std::size_t channels = in[2] / groups;
    const variable<B> weights =
        s.parameter("kernel", {kernel, channels, filters}, kernel_initializer);
    std::optional<variable<B>> shift;
    if (bias) {
      shift = s.parameter("bias", {filters}, bias_initializer);
    }
    const variable<B> y =
        ops::conv2d(ops::reshape(std::move(x), detail::as_row(in)),
                    ops::reshape(weights, {1, kernel, channels, filters}), shift, window, groups);
    return activation.apply(ops::reshape(y, detail::without_row(y.shape())));
  }

  [[nodiscard]] constexpr output_kind gives() const { return activation.gives(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("conv1d(", filters, ", ", kernel, ", ", padding);
    result += stride == 1 ? "" : text(", stride ", stride);
    result += dilation == 1 ? "" : text(", dilation ", dilation);
    result += groups == 1 ? "" : text(", ", groups, " groups");
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  friend bool operator==(const conv1d&, const conv1d&) = default;
};

}  // namespace glia
