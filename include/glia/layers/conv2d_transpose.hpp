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

/// What undoes the shape of a convolution, its adjoint: every element of x (N, H, W, C) adds the
/// kernel (height, width, O, C), times itself, to the images, y (N, H', W', O), at steps of
/// `stride`; bias (O). H' is H stride for padding `same`, and otherwise (H - 1) stride + kernel +
/// output_padding less what padding is given, for `valid` at least H stride. Dilation counts as a
/// larger kernel.
///
/// Throws `shape_error` for inputs that are no images and where nothing is left, `value_error` for
/// a kernel that is not given and sizes of 0.
struct conv2d_transpose {
  std::size_t filters = 0;  ///< O, at least 1
  extent2d kernel = 0;      ///< rows and columns, at least 1 each
  extent2d stride = 1;
  padding2d padding = valid;
  extent2d dilation = 1;
  extent2d output_padding = 0;  ///< less than the stride
  glia::activation activation = linear;
  bool bias = true;
  initializer kernel_initializer = glorot_uniform();
  initializer bias_initializer = constant(0);

  static constexpr std::string_view type_name = "conv2d_transpose";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() == 4 && in[1] > 0 && in[2] > 0, "expected images (N, H, W, C), got ",
             batch_text(in), "; add reshape{{H, W, C}} before it");
    s.expect_value(filters > 0 && kernel.height > 0 && kernel.width > 0 && stride.height > 0 &&
                       stride.width > 0 && dilation.height > 0 && dilation.width > 0,
                   "expected filters, kernel, stride and dilation of at least 1");
    s.expect_value(within_largest_window({kernel.height, kernel.width, stride.height, stride.width,
                                          dilation.height, dilation.width, padding.top,
                                          padding.bottom, padding.left, padding.right}),
                   "expected a kernel, stride, dilation and padding of at most ", largest_window);
    s.expect_value(output_padding.height < stride.height && output_padding.width < stride.width &&
                       (output_padding == 0 || padding.kind != padding2d::mode::same),
                   "expected an output_padding less than the stride, and none with padding same, "
                   "which says how large the output is");
    const shape out{extent(s, in[1], kernel.height, stride.height, dilation.height, padding.top,
                           padding.bottom, output_padding.height),
                    extent(s, in[2], kernel.width, stride.width, dilation.width, padding.left,
                           padding.right, output_padding.width),
                    filters};
    const window2d window = resolve_window(batch_of(in[0], out), kernel, stride, dilation, padding);
    const variable<B> weights =
        s.parameter("kernel", {kernel.height, kernel.width, filters, in[3]}, kernel_initializer);
    variable<B> y = ops::conv2d_transpose(x, weights, window, out);
    if (bias) {
      y = std::move(y) + s.parameter("bias", {filters}, bias_initializer);
    }
    return activation.apply(std::move(y));
  }

  [[nodiscard]] constexpr output_kind gives() const { return activation.gives(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("conv2d_transpose(", filters, ", ", kernel, ", ", padding);
    result += stride == 1 ? "" : text(", stride ", stride);
    result += dilation == 1 ? "" : text(", dilation ", dilation);
    result += output_padding == 0 ? "" : text(", output padding ", output_padding);
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  friend bool operator==(const conv2d_transpose&, const conv2d_transpose&) = default;

 private:
  /// Rows or columns of the output.
  template <backend B>
  [[nodiscard]] std::size_t extent(const scope<B>& s, std::size_t in, std::size_t size,
                                   std::size_t step, std::size_t spread, std::size_t before,
                                   std::size_t after, std::size_t more) const {
    const std::size_t reach = (size - 1) * spread + 1;
    switch (padding.kind) {
      case padding2d::mode::same:
        return in * step;
      case padding2d::mode::valid:
        return (in - 1) * step + std::max(reach + more, step);
      default:
        s.expect((in - 1) * step + reach + more > before + after, "padding ", before, " and ",
                 after, " leaves nothing of ", (in - 1) * step + reach, " rows or columns");
        return (in - 1) * step + reach + more - before - after;
    }
  }
};

}  // namespace glia
