#pragma once

#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Returns the maximum of each window of x (N, H, W, C).
///
/// The gradient of a maximum goes to the element with this maximum.
template <backend B>
[[nodiscard]] variable<B> max_pool2d(variable<B> x, const window2d& window) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const shape before = x.shape();
  auto [y, positions] = owner.device().run(kernels::max_pool2d{window}, std::move(x).value());
  return owner.record(
      std::move(y), static_cast<bool>(from),
      [from, before, window, kept = std::move(positions)](auto& to, auto dy) {
        to.add(from, to.device().run(kernels::max_pool2d_gradient{window, sample_of(before)},
                                     std::move(dy), kept));
      });
}

/// Returns the mean of each window of x (N, H, W, C). Padding does not count in the mean.
template <backend B>
[[nodiscard]] variable<B> avg_pool2d(variable<B> x, const window2d& window) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const shape before = x.shape();
  return owner.record(
      owner.device().run(kernels::avg_pool2d{window}, std::move(x).value()),
      static_cast<bool>(from), [from, before, window](auto& to, auto dy) {
        to.add(from, to.device().run(kernels::avg_pool2d_gradient{window, sample_of(before)},
                                     std::move(dy)));
      });
}

}  // namespace glia::ops
