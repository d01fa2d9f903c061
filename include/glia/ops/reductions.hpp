#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Returns the same elements with another shape. Throws `shape_error` if the numbers of elements
/// differ.
[[nodiscard]] variable reshape(variable x, const shape& s);

/// Sums x to the shape `s`: over each axis of x that has extent 1 in `s` or does not exist in `s`.
///
/// It is the adjoint of `broadcast_to`. PyTorch: sum_to_size. Throws `shape_error` if `s` does not
/// broadcast to the shape of x.
[[nodiscard]] variable sum_to(variable x, const shape& s);

/// Repeats x to the shape `s`: along each axis of `s` that has extent 1 in x or does not exist in
/// x.
///
/// Throws `shape_error` if the shape of x does not broadcast to `s`.
[[nodiscard]] variable broadcast_to(variable x, const shape& s);

/// Returns the sum of all elements, with shape ().
[[nodiscard]] variable sum(variable x);

/// Returns the mean of all elements, with shape ().
[[nodiscard]] variable mean(variable x);

namespace detail {

[[nodiscard]] variable sum_over(variable x, const kernels::axis_list& axes);

[[nodiscard]] variable mean_over(variable x, const kernels::axis_list& axes);

[[nodiscard]] variable max_over(const variable& x, const kernels::axis_list& axes);

/// Returns axes counted from 0. Throws `shape_error` if there is no such axis.
template <std::integral Axis>
[[nodiscard]] kernels::axis_list axes_from_front(std::string_view op, const shape& s,
                                                 std::initializer_list<Axis> axes) {
  kernels::axis_list result;
  for (const Axis axis : axes) {
    result.push_back(kernels::axis_from_front(op, s, static_cast<std::ptrdiff_t>(axis)));
  }
  return result;
}

}  // namespace detail

/// Returns the sum over the given axes and removes these axes: for x (N, H, W, C), sum(x, {1, 2})
/// has the shape (N, C), and sum(x, {-1}) the shape (N, H, W). Throws `shape_error` if there is no
/// such axis.
template <std::signed_integral Axis>
[[nodiscard]] variable sum(const variable& x, std::initializer_list<Axis> axes) {
  const auto from_front = detail::axes_from_front("sum", x.shape(), axes);
  return detail::sum_over(x, from_front);
}
/// Returns the sum over the given axes, counted from 0.
[[nodiscard]] variable sum(variable x, std::initializer_list<std::size_t> axes);

/// Returns the mean over the given axes and removes these axes: for x (N, H, W, C), mean(x, {1, 2})
/// has the shape (N, C), and mean(x, {-1}) the shape (N, H, W). Throws `shape_error` if there is no
/// such axis.
template <std::signed_integral Axis>
[[nodiscard]] variable mean(const variable& x, std::initializer_list<Axis> axes) {
  const auto from_front = detail::axes_from_front("mean", x.shape(), axes);
  return detail::mean_over(x, from_front);
}
/// Returns the mean over the given axes, counted from 0.
[[nodiscard]] variable mean(variable x, std::initializer_list<std::size_t> axes);

/// Returns the largest element, with shape (). The gradient goes to the first largest element. NaN
/// counts as larger than all numbers. Throws `shape_error` if x has no elements.
[[nodiscard]] variable max(const variable& x);
/// Returns the smallest element, with shape (). The gradient goes to the first smallest element.
/// NaN counts as smaller than all numbers. Throws `shape_error` if x has no elements.
[[nodiscard]] variable min(const variable& x);

/// Returns the largest element over the given axes and removes these axes: for x (N, T, C),
/// max(x, {1}) has the shape (N, C), and max(x, {-1}) the shape (N, T).
///
/// The gradient goes to the first of several largest elements, as in PyTorch's max; Keras and JAX
/// divide it between them. NaN counts as larger than all numbers. NumPy: max; Keras and JAX: max;
/// PyTorch: amax. Throws `shape_error` if there is no such axis or if x has no elements.
template <std::signed_integral Axis>
[[nodiscard]] variable max(const variable& x, std::initializer_list<Axis> axes) {
  return detail::max_over(x, detail::axes_from_front("max", x.shape(), axes));
}
/// Returns the largest element over the given axes, counted from 0.
[[nodiscard]] variable max(const variable& x, std::initializer_list<std::size_t> axes);

/// Returns the smallest element over the given axes and removes these axes. It is the counterpart
/// of `max`, with the same rules for gradients and errors. NaN counts as smaller than all numbers.
template <std::signed_integral Axis>
[[nodiscard]] variable min(const variable& x, std::initializer_list<Axis> axes) {
  return -detail::max_over(-x, detail::axes_from_front("min", x.shape(), axes));
}
/// Returns the smallest element over the given axes, counted from 0.
[[nodiscard]] variable min(const variable& x, std::initializer_list<std::size_t> axes);

/// Returns the index of the largest element along an axis, and removes this axis: for scores
/// (N, K), argmax(scores, -1) has the shape (N).
///
/// The result is a tensor of integers, which `gather` accepts as indices. Of several largest
/// elements, the first one counts. The index is not specified if an element is NaN. NumPy, Keras
/// and PyTorch: argmax. Throws `shape_error` if there is no such axis, or if the axis is empty.
[[nodiscard]] tensor argmax(const variable& x, std::ptrdiff_t axis);

/// Returns the sums of all elements up to each position of an axis: y_i = x_0 + ... + x_i. The
/// result has the shape of x.
///
/// The elements are added in pairs, so that the rounding error grows with the logarithm of the
/// extent. NumPy, Keras, JAX and PyTorch: cumsum. Throws `shape_error` if there is no such axis.
[[nodiscard]] variable cumsum(variable x, std::ptrdiff_t axis);

/// Returns the mean of each sample, with shape (N), for x (N, ...). Most losses call this function
/// last.
[[nodiscard]] variable mean_per_sample(variable x);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/reductions_impl.hpp"
#endif
