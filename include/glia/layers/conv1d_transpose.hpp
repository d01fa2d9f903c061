#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/activation.hpp"
#include "glia/layers/conv2d_transpose.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/layers/window1d.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// A transposed convolution of sequences, which lengthens them by the factor `strides`.
///
/// It is the adjoint of `conv1d`: each step of the input multiplies the kernel, and the product is
/// added to the output. The products of neighboring steps are `strides` steps apart. Then the bias
/// is added and the activation is applied.
///
/// The input is (N, T, C): N samples, T steps, C channels. The output is (N, T', O) with
/// O = `filters`. The parameters are `kernel` (kernel_size, O, C) and `bias` (O).
///
/// The kernel spans R = (kernel_size - 1) * dilation_rate + 1 steps. The number of output steps T'
/// is
///
/// - T * strides for padding `same`,
/// - (T - 1) * strides + max(R + output_padding, strides) for padding `valid`,
/// - (T - 1) * strides + R + output_padding - before - after for padding in numbers.
///
/// For `same` and `valid`, the output has the size that Keras computes if its `output_padding` is
/// not set. Padding in numbers and `output_padding` mean the same as in PyTorch.
///
/// Throws `shape_error` if the input does not have three axes, if it has no steps, or if the
/// padding removes the whole output. Throws `value_error` if `filters` or `kernel_size` is missing,
/// if a size is 0, if the padding is `causal`, if `output_padding` is not less than `strides`, or
/// if `output_padding` is set together with padding `same`.
struct conv1d_transpose {
  std::size_t filters = 0;      ///< Number of output channels O, at least 1. Required.
  std::size_t kernel_size = 0;  ///< Number of steps of the kernel, at least 1. Required.
  std::size_t strides = 1;      ///< Factor by which the number of steps grows, at least 1.
  /// Steps that are cut off the output: `valid` (none), `same` (the output has `strides` times as
  /// many steps as the input), a number of steps for each end, or {before, after}.
  padding1d padding = valid;
  /// Distance between neighboring kernel elements in the output, at least 1; 1 means no gaps.
  std::size_t dilation_rate = 1;
  /// Steps added at the end of the output, less than `strides`. With padding `same` it must be 0;
  /// Keras also accepts other values there.
  std::size_t output_padding = 0;
  glia::activation activation = linear;               ///< Activation function of the output.
  bool use_bias = true;                               ///< Whether a bias is added.
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer bias_initializer = constant(0);         ///< Initial values of the bias.

  static constexpr std::string_view type_name = "conv1d_transpose";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() == 3 && extents[1] > 0, "expected sequences (N, T, C), got ",
             batch_text(extents), "; add reshape{{T, C}} before it");
    s.expect_value(filters > 0 && kernel_size > 0 && strides > 0 && dilation_rate > 0,
                   "expected filters, kernel_size, strides and dilation_rate of at least 1");
    s.expect_value(padding.kind != padding1d::mode::causal,
                   "expected padding valid, same or numbers of steps, got causal; to cut steps off "
                   "the end only, write .padding = {0, ",
                   kernel_size > strides ? kernel_size - strides : 0, "}");
    const padding2d around = on_row();
    s.expect_value(detail::within_largest_window({1, kernel_size, 1, strides, 1, dilation_rate, 0,
                                                  0, around.left, around.right}),
                   "expected kernel_size, strides, dilation_rate and padding of at most ",
                   detail::largest_window);
    s.expect_value(
        output_padding < strides && (output_padding == 0 || around.kind != padding2d::mode::same),
        "expected an output_padding smaller than strides, and 0 with padding same, "
        "which determines the size of the output");
    const shape out{
        1,
        detail::transposed_extent(s, around.kind, extents[1], kernel_size, strides, dilation_rate,
                                  around.left, around.right, output_padding, "steps"),
        filters};
    const window2d window = detail::resolve_window(batch_of(extents[0], out), {1, kernel_size},
                                                   {1, strides}, {1, dilation_rate}, around);
    const variable weights =
        s.parameter("kernel", {kernel_size, filters, extents[2]}, kernel_initializer);
    variable y = ops::conv2d_transpose(ops::reshape(std::move(x), detail::as_row(extents)),
                                       ops::reshape(weights, {1, kernel_size, filters, extents[2]}),
                                       window, out);
    y = ops::reshape(std::move(y), {extents[0], out[1], filters});
    if (use_bias) {
      y = y + s.parameter("bias", {filters}, bias_initializer);
    }
    return activation(std::move(y));
  }

  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("conv1d_transpose(", filters, ", ", kernel_size, ", ", padding);
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

  friend bool operator==(const conv1d_transpose&, const conv1d_transpose&) = default;

 private:
  /// Returns the padding of the sequence as the padding of an image of one row.
  [[nodiscard]] constexpr padding2d on_row() const {
    switch (padding.kind) {
      case padding1d::mode::no_padding:
        return valid;
      case padding1d::mode::same_length:
        return same;
      default:
        return {0, 0, padding.before, padding.after};
    }
  }
};

}  // namespace glia
