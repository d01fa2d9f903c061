#pragma once

#include <utility>

#include "glia/kernels/noise.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// x plus normally distributed noise of mean 0. It is a function of the source and the element's
/// number in the batch alone.
template <backend B>
[[nodiscard]] variable<B> gaussian_noise(variable<B> x, double deviation,
                                         const random_source<B>& random) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const kernels::gaussian_noise kernel{deviation, random.stream};
  return owner.record(owner.device().run(kernel, std::move(x).value(), random.key),
                      static_cast<bool>(from),
                      [from](auto& to, auto dy) { to.add(from, std::move(dy)); });
}

}  // namespace glia::ops
