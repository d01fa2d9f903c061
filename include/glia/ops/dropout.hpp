#pragma once

#include <cstdint>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia {

/// Where an op's random numbers come from: the step's key, a tensor (see `step_key`), and a stream
/// of its own.
template <backend B>
struct random_source {
  typename B::tensor key;
  std::uint32_t stream = 0;
};

}  // namespace glia

namespace glia::ops {

/// Sets each element to 0 with probability `rate` and divides the others by 1 - rate. Which ones go
/// is a function of the source and the element's number in the batch alone.
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
