#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/products.hpp"

namespace glia {

namespace detail {

/// Returns the number of rows, columns or steps of the output of a transposed convolution. Throws
/// `shape_error` if the padding in numbers removes the whole output. The error message calls the
/// elements of the output `elements`.
[[nodiscard]] inline std::size_t transposed_extent(const scope& s, padding2d::mode padding,
                                                   std::size_t input, std::size_t size,
                                                   std::size_t stride, std::size_t dilation,
                                                   std::size_t leading, std::size_t trailing,
                                                   std::size_t extra, std::string_view elements) {
  const std::size_t reach = (size - 1) * dilation + 1;
  switch (padding) {
    case padding2d::mode::same:
      return input * stride;
    case padding2d::mode::valid:
      return (input - 1) * stride + std::max(reach + extra, stride);
    default:
      s.expect((input - 1) * stride + reach + extra > leading + trailing, "padding of ", leading,
               " and ", trailing, " leaves none of the output's ", (input - 1) * stride + reach,
               ' ', elements, "; use less padding");
      return (input - 1) * stride + reach + extra - leading - trailing;
  }
}

}  // namespace detail

/// A transposed convolution of images, which enlarges them by the factor `strides`.
///
/// It is the adjoint of `conv2d`: each element of the input multiplies the kernel, and the product
/// is added to the output. The products of neighboring elements are `strides` rows or columns
/// apart. Then the bias is added and the activation is applied.
///
/// The input is (N, H, W, C): N samples, H rows, W columns, C channels. The output is
/// (N, H', W', O) with O = `filters`. The parameters are `kernel`
/// (kernel rows, kernel columns, O, C) and `bias` (O).
///
/// The kernel spans R = (kernel rows - 1) * dilation_rate + 1 rows. The number of output rows H' is
///
/// - H * strides for padding `same`,
/// - (H - 1) * strides + max(R + output_padding, strides) for padding `valid`,
/// - (H - 1) * strides + R + output_padding - top - bottom for padding in numbers.
///
/// The formulas for the columns W' are the same. For `same` and `valid`, the output has the size
/// that Keras computes if its `output_padding` is not set. Padding in numbers and `output_padding`
/// mean the same as in PyTorch.
///
/// Throws `shape_error` if the input does not have four axes, if it has no rows or columns, or if
/// the padding removes the whole output. Throws `value_error` if `filters` or `kernel_size` is
/// missing, if a size is 0, if `output_padding` is not less than `strides`, or if `output_padding`
/// is set together with padding `same`.
struct conv2d_transpose {
  std::size_t filters = 0;  ///< Number of output channels O, at least 1. Required.
  /// Rows and columns of the kernel, at least 1 each; one number sets both. Required.
  extent2d kernel_size = 0;
  /// Factor by which rows and columns grow, at least 1; one number sets both.
  extent2d strides = 1;
  /// Rows and columns that are cut off the output: `valid` (none), `same` (the output has `strides`
  /// times as many rows and columns as the input), a number of rows and columns for each side, or
  /// {top, bottom, left, right}.
  padding2d padding = valid;
  /// Distance between neighboring kernel elements in the output, at least 1; 1 means no gaps.
  extent2d dilation_rate = 1;
  /// Rows and columns added at the bottom and right of the output, less than `strides`. With
  /// padding `same` it must be 0; Keras also accepts other values there.
  extent2d output_padding = 0;
  glia::activation activation = linear;               ///< Activation function of the output.
  bool use_bias = true;                               ///< Whether a bias is added.
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer bias_initializer = constant(0);         ///< Initial values of the bias.

  static constexpr std::string_view type_name = "conv2d_transpose";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() == 4 && extents[1] > 0 && extents[2] > 0,
             "expected images (N, H, W, C), got ", batch_text(extents),
             "; add reshape{{H, W, C}} before it");
    s.expect_value(filters > 0 && kernel_size.height > 0 && kernel_size.width > 0 &&
                       strides.height > 0 && strides.width > 0 && dilation_rate.height > 0 &&
                       dilation_rate.width > 0,
                   "expected filters, kernel_size, strides and dilation_rate of at least 1");
    s.expect_value(
        detail::within_largest_window({kernel_size.height, kernel_size.width, strides.height,
                                       strides.width, dilation_rate.height, dilation_rate.width,
                                       padding.top, padding.bottom, padding.left, padding.right}),
        "expected kernel_size, strides, dilation_rate and padding of at most ",
        detail::largest_window);
    s.expect_value(output_padding.height < strides.height && output_padding.width < strides.width &&
                       (output_padding == 0 || padding.kind != padding2d::mode::same),
                   "expected an output_padding smaller than strides, and 0 with padding same, "
                   "which determines the size of the output");
    const auto extent = [&](std::size_t input, std::size_t size, std::size_t stride,
                            std::size_t dilation, std::size_t leading, std::size_t trailing,
                            std::size_t extra) {
      return detail::transposed_extent(s, padding.kind, input, size, stride, dilation, leading,
                                       trailing, extra, "rows or columns");
    };
    const shape out{extent(extents[1], kernel_size.height, strides.height, dilation_rate.height,
                           padding.top, padding.bottom, output_padding.height),
                    extent(extents[2], kernel_size.width, strides.width, dilation_rate.width,
                           padding.left, padding.right, output_padding.width),
                    filters};
    const window2d window = detail::resolve_window(batch_of(extents[0], out), kernel_size, strides,
                                                   dilation_rate, padding);
    const variable weights = s.parameter(
        "kernel", {kernel_size.height, kernel_size.width, filters, extents[3]}, kernel_initializer);
    variable y = ops::conv2d_transpose(x, weights, window, out);
    if (use_bias) {
      y = y + s.parameter("bias", {filters}, bias_initializer);
    }
    return activation(std::move(y));
  }

  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("conv2d_transpose(", filters, ", ", kernel_size, ", ", padding);
    result += strides == 1 ? "" : text(", stride ", strides);
    result += dilation_rate == 1 ? "" : text(", dilation ", dilation_rate);
    result += output_padding == 0 ? "" : text(", output padding ", output_padding);
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
    visit("output_padding", self.output_padding);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
  }

  friend bool operator==(const conv2d_transpose&, const conv2d_transpose&) = default;
};

}  // namespace glia
