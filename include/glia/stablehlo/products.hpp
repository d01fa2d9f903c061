#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "glia/kernels/convolution.hpp"
#include "glia/kernels/products.hpp"
#include "glia/stablehlo/contractions.hpp"
#include "glia/stablehlo/elementwise.hpp"

namespace glia::stablehlo {

namespace detail {

[[nodiscard]] inline value product(const lowering& l, const value& a, const value& b,
                                   transpose transposed) {
  const std::size_t batch = a.shape.rank() - 2;
  const auto row = static_cast<std::int64_t>(batch);
  return dot(l.out, a, b, {transposed == transpose::first ? row : row + 1},
             {transposed == transpose::second ? row + 1 : row}, batch, l.precision);
}

[[nodiscard]] inline value with_bias(const lowering& l, const value& y, const value& bias,
                                     const unary_map& map) {
  const value sum = bias ? l.out.add(y, l.out.broadcast(bias, y.shape)) : y;
  return map == kernels::identity_map ? sum : apply(l.out, map, sum);
}

[[nodiscard]] constexpr std::int64_t signed_of(std::size_t n) noexcept {
  return static_cast<std::int64_t>(n);
}

/// The sizes of a window along one of its two axes.
struct window_axis {
  std::int64_t size, stride, dilation, leading, trailing;

  /// Returns the distance from the first to the last element of a window, plus 1.
  [[nodiscard]] std::int64_t reach() const { return (size - 1) * dilation + 1; }
  /// Returns the extent of `steps` elements with the stride's gaps between them.
  [[nodiscard]] std::int64_t spread(std::int64_t steps) const { return (steps - 1) * stride + 1; }
};
[[nodiscard]] inline window_axis rows_of(const window2d& w) {
  return {signed_of(w.height), signed_of(w.stride_height), signed_of(w.dilation_height),
          signed_of(w.pad_top), signed_of(w.pad_bottom)};
}
[[nodiscard]] inline window_axis columns_of(const window2d& w) {
  return {signed_of(w.width), signed_of(w.stride_width), signed_of(w.dilation_width),
          signed_of(w.pad_left), signed_of(w.pad_right)};
}

}  // namespace detail

[[nodiscard]] inline values lower(const lowering& l, const kernels::matmul& k, operand_list x) {
  return {detail::product(l, x[0], x[1], k.transposed_factor)};
}
[[nodiscard]] inline values lower(const lowering& l, const kernels::batched_matmul& k,
                                  operand_list x) {
  return {detail::product(l, x[0], x[1], k.transposed_factor)};
}
[[nodiscard]] inline values lower(const lowering& l, const kernels::dense& k, operand_list x) {
  return {detail::with_bias(l, detail::product(l, x[0], x[1], transpose::none), x[2], k.map)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::conv2d& k, operand_list x) {
  const kernels::window_sizes s = kernels::conv2d_rule(x[0].shape, x[1].shape, k.window, k.groups);
  const auto [rows, columns] = std::pair(detail::rows_of(k.window), detail::columns_of(k.window));
  const value y =
      convolution(l.out, x[0], x[1],
                  {.axes = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                   .stride = {rows.stride, columns.stride},
                   .padding = {rows.leading, rows.trailing, columns.leading, columns.trailing},
                   .window_dilation = {rows.dilation, columns.dilation},
                   .feature_groups = k.groups},
                  s.output(), l.precision);
  return {detail::with_bias(l, y, x[2], k.map)};
}

/// Computes the gradient as a convolution: dy, spread by the stride, with the reversed window.
/// Inputs and outputs are exchanged within each group.
[[nodiscard]] inline values lower(const lowering& l, const kernels::conv2d_input_gradient& k,
                                  operand_list x) {
  writer& w = l.out;
  const kernels::window_sizes s = k.sizes(x[0].shape, x[1].shape);
  const std::size_t height = k.window.height;
  const std::size_t width = k.window.width;
  value weights = w.reshape(x[1], {height, width, s.group_inputs(), s.groups, s.group_outputs()});
  weights =
      w.reshape(w.transpose(weights, {0, 1, 4, 3, 2}), {height, width, s.group_outputs(), s.c});
  const auto padding_of = [](const detail::window_axis& a, std::size_t extent, std::size_t steps) {
    const std::int64_t leading = a.reach() - 1 - a.leading;
    return std::pair(leading, detail::signed_of(extent) + a.reach() - 1 -
                                  a.spread(detail::signed_of(steps)) - leading);
  };
  const auto rows = detail::rows_of(k.window);
  const auto columns = detail::columns_of(k.window);
  const auto [top, bottom] = padding_of(rows, s.h, s.oh);
  const auto [left, right] = padding_of(columns, s.w, s.ow);
  return {convolution(w, x[0], weights,
                      {.axes = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                       .padding = {top, bottom, left, right},
                       .input_dilation = {rows.stride, columns.stride},
                       .window_dilation = {rows.dilation, columns.dilation},
                       .reversed = true,
                       .feature_groups = k.groups},
                      s.input(), l.precision)};
}

/// Computes the gradient as a convolution of x with dy, after dy is spread by the stride. The
/// convolution sums over the samples.
[[nodiscard]] inline values lower(const lowering& l, const kernels::conv2d_kernel_gradient& k,
                                  operand_list x) {
  const kernels::window_sizes s = k.sizes(x[0].shape, x[1].shape);
  const auto trailing = [](const detail::window_axis& a, std::size_t extent, std::size_t steps) {
    return a.reach() - 1 + a.spread(detail::signed_of(steps)) - detail::signed_of(extent) -
           a.leading;
  };
  const auto rows = detail::rows_of(k.window);
  const auto columns = detail::columns_of(k.window);
  return {convolution(l.out, x[0], x[1],
                      {.axes = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                       .stride = {rows.dilation, columns.dilation},
                       .padding = {rows.leading, trailing(rows, s.h, s.oh), columns.leading,
                                   trailing(columns, s.w, s.ow)},
                       .window_dilation = {rows.stride, columns.stride},
                       .batch_groups = k.groups},
                      s.weights(), l.precision)};
}

}  // namespace glia::stablehlo
