#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
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

GLIA_INLINE variable sum_over(variable x, const kernels::axis_list& axes) {
  shape reduced = x.shape();
  for (std::size_t axis : axes) {
    reduced[axis] = 1;
  }
  shape squeezed;
  for (std::size_t axis = 0; axis < reduced.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      squeezed.push_back(reduced[axis]);
    }
  }
  return reshape(sum_to(std::move(x), reduced), squeezed);
}

GLIA_INLINE variable mean_over(variable x, const kernels::axis_list& axes) {
  const auto elements = static_cast<double>(x.shape().size());
  variable sums = sum_over(std::move(x), axes);
  const double share = static_cast<double>(sums.shape().size()) / elements;
  return std::move(sums) * share;
}

}  // namespace detail

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
