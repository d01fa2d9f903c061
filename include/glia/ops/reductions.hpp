#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// The same elements under another shape of equal size.
template <backend B>
[[nodiscard]] variable<B> reshape(variable<B> x, const shape& s) {
  return detail::rearranged(std::move(x), kernels::reshape{s},
                            [](const shape& before) { return kernels::reshape{before}; });
}

/// Sums over every axis in which `s` is shorter than x's shape (extent 1 or absent).
template <backend B>
[[nodiscard]] variable<B> sum_to(variable<B> x, const shape& s) {
  return detail::rearranged(std::move(x), kernels::sum_to{s},
                            [](const shape& before) { return kernels::broadcast_to{before}; });
}

/// Repeats x along every axis in which it is shorter than `s`.
template <backend B>
[[nodiscard]] variable<B> broadcast_to(variable<B> x, const shape& s) {
  return detail::rearranged(std::move(x), kernels::broadcast_to{s},
                            [](const shape& before) { return kernels::sum_to{before}; });
}

/// The sum of all elements, of shape ().
template <backend B>
[[nodiscard]] variable<B> sum(variable<B> x) {
  return sum_to(std::move(x), shape{});
}

/// The mean of all elements, of shape ().
template <backend B>
[[nodiscard]] variable<B> mean(variable<B> x) {
  const auto count = static_cast<double>(x.shape().size());
  return sum(std::move(x)) * (1 / count);
}

/// The sum over the given axes, which are dropped.
template <backend B>
[[nodiscard]] variable<B> sum(variable<B> x, std::initializer_list<std::size_t> axes) {
  shape kept = x.shape();
  for (std::size_t axis : axes) {
    require_axis("sum", x.shape(), axis);
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

/// The mean over the given axes, which are dropped.
template <backend B>
[[nodiscard]] variable<B> mean(variable<B> x, std::initializer_list<std::size_t> axes) {
  double count = 1;
  for (std::size_t axis : axes) {
    require_axis("mean", x.shape(), axis);
    count *= static_cast<double>(x.shape()[axis]);
  }
  return sum(std::move(x), axes) * (1 / count);
}

/// The mean over everything but the batch axis: one number per sample, of shape (N).
template <backend B>
[[nodiscard]] variable<B> mean_per_sample(variable<B> x) {
  const std::size_t n = x.shape()[0];
  const std::size_t features = sample_of(x.shape()).size();
  variable<B> rows = reshape(std::move(x), {n, features});
  return reshape(sum_to(std::move(rows), {n, 1}) * (1.0 / static_cast<double>(features)), {n});
}

}  // namespace glia::ops
