#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/pooling.hpp"

namespace glia::ops {

GLIA_INLINE variable max_pool2d(variable x, const window2d& window) {
  tape& owner = x.owner();
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

GLIA_INLINE variable avg_pool2d(variable x, const window2d& window) {
  tape& owner = x.owner();
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
