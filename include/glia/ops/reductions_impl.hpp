#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/pooling.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::ops {

GLIA_INLINE variable reshape(variable x, const shape& s) {
  return call(x.owner(), kernels::reshape{s}, std::move(x));
}

GLIA_INLINE variable sum_to(variable x, const shape& s) {
  return call(x.owner(), kernels::sum_to{s}, std::move(x));
}

GLIA_INLINE variable broadcast_to(variable x, const shape& s) {
  return call(x.owner(), kernels::broadcast_to{s}, std::move(x));
}

GLIA_INLINE variable sum(variable x) { return sum_to(std::move(x), shape{}); }

GLIA_INLINE variable mean(variable x) {
  const auto count = static_cast<double>(x.shape().size());
  return sum(std::move(x)) * (1 / count);
}

namespace detail {

/// Returns the axes of a shape that are not in `axes`.
GLIA_INLINE kernels::axis_list other_axes(const shape& s, const kernels::axis_list& axes) {
  kernels::axis_list result;
  for (std::size_t axis = 0; axis < s.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      result.push_back(axis);
    }
  }
  return result;
}

/// Returns the extents of the given axes.
GLIA_INLINE shape extents_of(const shape& s, const kernels::axis_list& axes) {
  shape result;
  for (const std::size_t axis : axes) {
    result.push_back(s[axis]);
  }
  return result;
}

GLIA_INLINE variable sum_over(variable x, const kernels::axis_list& axes) {
  shape reduced = x.shape();
  for (std::size_t axis : axes) {
    reduced[axis] = 1;
  }
  const shape remaining = extents_of(x.shape(), other_axes(x.shape(), axes));
  return reshape(sum_to(std::move(x), reduced), remaining);
}

GLIA_INLINE variable mean_over(variable x, const kernels::axis_list& axes) {
  const auto elements = static_cast<double>(x.shape().size());
  variable sums = sum_over(std::move(x), axes);
  const double share = static_cast<double>(sums.shape().size()) / elements;
  return std::move(sums) * share;
}

GLIA_INLINE variable max_over(const variable& x, const kernels::axis_list& axes) {
  const shape& extents = x.shape();
  require<shape_error>(extents.size() > 0,
                       "max and min: expected a tensor with elements, got the shape ", extents);
  kernels::axis_list order = other_axes(extents, axes);
  const shape remaining = extents_of(extents, order);
  if (remaining.rank() == extents.rank()) {
    return x;
  }
  const kernels::axis_list reduced = other_axes(extents, order);  // in ascending order
  const std::size_t count = extents_of(extents, reduced).size();
  // A pooling whose window has as many columns as there are reduced elements. The reduced axes need
  // not move if they are neighbors.
  const bool are_neighbors = reduced.back() - reduced[0] + 1 == reduced.rank();
  const std::size_t leading = are_neighbors ? reduced[0] : order.rank();  // axes before the columns
  for (const std::size_t axis : reduced) {
    order.push_back(axis);
  }
  // Images (samples, rows, reduced elements, channels).
  const std::size_t samples = leading == 0 ? 1 : remaining[0];
  const std::size_t rows =
      leading == 0 ? 1 : shape(remaining.begin() + 1, remaining.begin() + leading).size();
  const std::size_t channels = shape(remaining.begin() + leading, remaining.end()).size();
  variable moved = are_neighbors ? x : permute(x, order);
  return reshape(
      max_pool2d(reshape(std::move(moved), {samples, rows, count, channels}), {.width = count}),
      remaining);
}

}  // namespace detail

GLIA_INLINE variable max(const variable& x) { return max(reshape(x, {x.shape().size()}), {0}); }

GLIA_INLINE variable min(const variable& x) { return -max(-x); }

GLIA_INLINE variable max(const variable& x, std::initializer_list<std::size_t> axes) {
  return detail::max_over(x, detail::axes_from_front("max", x.shape(), axes));
}

GLIA_INLINE variable min(const variable& x, std::initializer_list<std::size_t> axes) {
  return -detail::max_over(-x, detail::axes_from_front("min", x.shape(), axes));
}

GLIA_INLINE tensor argmax(const variable& x, std::ptrdiff_t axis) {
  const std::size_t reduced = kernels::axis_from_front("argmax", x.shape(), axis);
  require<shape_error>(x.shape()[reduced] > 0, "argmax: expected an axis with elements, got axis ",
                       axis, " of the shape ", x.shape());
  kernels::axis_list order = detail::other_axes(x.shape(), {reduced});
  const shape remaining = detail::extents_of(x.shape(), order);
  order.push_back(reduced);
  const bool is_last = reduced + 1 == x.shape().rank();
  const glia::device& device = x.device();
  const tensor rows = is_last ? x.value() : device.run(kernels::permute_axes{order}, x.value());
  return device.run(kernels::reshape{remaining}, device.run(kernels::argmax{}, rows));
}

GLIA_INLINE variable cumsum(variable x, std::ptrdiff_t axis) {
  const std::size_t summed = kernels::axis_from_front("cumsum", x.shape(), axis);
  const std::size_t count = x.shape()[summed];
  // After each round, an element is the sum of the last 2 * shift elements up to its position.
  for (std::size_t shift = 1; shift < count; shift *= 2) {
    x = x + pad(slice(x, {.axis = summed, .begin = 0, .extent = count - shift}),
                {.axis = summed, .before = shift});
  }
  return x;
}

GLIA_INLINE variable sum(variable x, std::initializer_list<std::size_t> axes) {
  const auto from_front = detail::axes_from_front("sum", x.shape(), axes);
  return detail::sum_over(std::move(x), from_front);
}

GLIA_INLINE variable mean(variable x, std::initializer_list<std::size_t> axes) {
  const auto from_front = detail::axes_from_front("mean", x.shape(), axes);
  return detail::mean_over(std::move(x), from_front);
}

GLIA_INLINE variable mean_per_sample(variable x) {
  const std::size_t n = x.shape()[0];
  const std::size_t features = sample_of(x.shape()).size();
  variable rows = reshape(std::move(x), {n, features});
  return reshape(sum_to(std::move(rows), {n, 1}) * (1.0 / static_cast<double>(features)), {n});
}

}  // namespace glia::ops
