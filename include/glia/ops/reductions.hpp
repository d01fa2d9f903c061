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
template <backend B>
[[nodiscard]] variable<B> reshape(variable<B> x, const shape& s) {
  return detail::rearranged(std::move(x), kernels::reshape{s},
                            [](const shape& before) { return kernels::reshape{before}; });
}

/// Sums x to the shape `s`: over each axis of x that has extent 1 in `s` or does not exist in `s`.
///
/// It is the adjoint of `broadcast_to`. PyTorch: sum_to_size. Throws `shape_error` if `s` does not
/// broadcast to the shape of x.
template <backend B>
[[nodiscard]] variable<B> sum_to(variable<B> x, const shape& s) {
  return detail::rearranged(std::move(x), kernels::sum_to{s},
                            [](const shape& before) { return kernels::broadcast_to{before}; });
}

/// Repeats x to the shape `s`: along each axis of `s` that has extent 1 in x or does not exist in
/// x.
///
/// Throws `shape_error` if the shape of x does not broadcast to `s`.
template <backend B>
[[nodiscard]] variable<B> broadcast_to(variable<B> x, const shape& s) {
  return detail::rearranged(std::move(x), kernels::broadcast_to{s},
                            [](const shape& before) { return kernels::sum_to{before}; });
}

/// Returns the sum of all elements, with shape ().
template <backend B>
[[nodiscard]] variable<B> sum(variable<B> x) {
  return sum_to(std::move(x), shape{});
}

/// Returns the mean of all elements, with shape ().
template <backend B>
[[nodiscard]] variable<B> mean(variable<B> x) {
  const auto count = static_cast<double>(x.shape().size());
  return sum(std::move(x)) * (1 / count);
}

namespace detail {

template <backend B>
[[nodiscard]] variable<B> sum_over(variable<B> x, const axis_list& axes) {
  shape kept = x.shape();
  for (std::size_t axis : axes) {
    kept[axis] = 1;
  }
  shape dropped;
  for (std::size_t axis = 0; axis < kept.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      dropped.push_back(kept[axis]);
    }
  }
  return reshape(sum_to(std::move(x), kept), dropped);
}

template <backend B>
[[nodiscard]] variable<B> mean_over(variable<B> x, const axis_list& axes) {
  const auto elements = static_cast<double>(x.shape().size());
  variable<B> sums = sum_over(std::move(x), axes);
  const double share = static_cast<double>(sums.shape().size()) / elements;
  return std::move(sums) * share;
}

/// Returns axes counted from 0. Throws `shape_error` if there is no such axis.
template <std::integral Axis>
[[nodiscard]] axis_list axes_from_front(std::string_view op, const shape& s,
                                        std::initializer_list<Axis> axes) {
  axis_list result;
  for (const Axis axis : axes) {
    result.push_back(axis_from_front(op, s, static_cast<std::ptrdiff_t>(axis)));
  }
  return result;
}

}  // namespace detail

/// Returns the sum over the given axes and removes these axes: for x (N, H, W, C), sum(x, {1, 2})
/// has the shape (N, C), and sum(x, {-1}) the shape (N, H, W). Throws `shape_error` if there is no
/// such axis.
template <backend B, std::signed_integral Axis>
[[nodiscard]] variable<B> sum(variable<B> x, std::initializer_list<Axis> axes) {
  const auto from_front = detail::axes_from_front("sum", x.shape(), axes);
  return detail::sum_over(std::move(x), from_front);
}
/// Returns the sum over the given axes, counted from 0.
template <backend B>
[[nodiscard]] variable<B> sum(variable<B> x, std::initializer_list<std::size_t> axes) {
  const auto from_front = detail::axes_from_front("sum", x.shape(), axes);
  return detail::sum_over(std::move(x), from_front);
}

/// Returns the mean over the given axes and removes these axes: for x (N, H, W, C), mean(x, {1, 2})
/// has the shape (N, C), and mean(x, {-1}) the shape (N, H, W). Throws `shape_error` if there is no
/// such axis.
template <backend B, std::signed_integral Axis>
[[nodiscard]] variable<B> mean(variable<B> x, std::initializer_list<Axis> axes) {
  const auto from_front = detail::axes_from_front("mean", x.shape(), axes);
  return detail::mean_over(std::move(x), from_front);
}
/// Returns the mean over the given axes, counted from 0.
template <backend B>
[[nodiscard]] variable<B> mean(variable<B> x, std::initializer_list<std::size_t> axes) {
  const auto from_front = detail::axes_from_front("mean", x.shape(), axes);
  return detail::mean_over(std::move(x), from_front);
}

/// Returns the mean of each sample, with shape (N), for x (N, ...). Most losses call this function
/// last.
template <backend B>
[[nodiscard]] variable<B> mean_per_sample(variable<B> x) {
  const std::size_t n = x.shape()[0];
  const std::size_t features = sample_of(x.shape()).size();
  variable<B> rows = reshape(std::move(x), {n, features});
  return reshape(sum_to(std::move(rows), {n, 1}) * (1.0 / static_cast<double>(features)), {n});
}

}  // namespace glia::ops
