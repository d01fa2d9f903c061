#pragma once

#include <cstdint>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia {

/// A source of random numbers for an op; `scope::next_random()` returns one.
template <backend B>
struct random_source {
  typename B::tensor key;    ///< Key of the training step; see `step_key`.
  std::uint32_t stream = 0;  ///< Number of the stream; each op in a step has its own.
};

}  // namespace glia

namespace glia::ops {

/// Sets each element to 0 with probability `rate`, and divides the other elements by 1 - rate.
///
/// Whether an element becomes 0 depends only on `random` and on the index of the element in the
/// batch.
template <backend B>
[[nodiscard]] variable<B> dropout(variable<B> x, double rate, const random_source<B>& random) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const kernels::dropout kernel{rate, random.stream};
  return owner.record(owner.device().run(kernel, std::move(x).value(), random.key),
                      static_cast<bool>(from), [from, kernel, key = random.key](auto& to, auto dy) {
                        to.add(from, to.device().run(kernel, std::move(dy), key));
                      });
}

}  // namespace glia::ops
