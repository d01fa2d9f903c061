#pragma once

#include <utility>

#include "glia/kernels/noise.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Adds normally distributed noise with mean 0 and standard deviation `stddev`.
///
/// The noise depends only on `random` and on the index of the element in the batch. The gradient of
/// x equals the gradient of the result.
template <backend B>
[[nodiscard]] variable<B> gaussian_noise(variable<B> x, double stddev,
                                         const random_source<B>& random) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const kernels::gaussian_noise kernel{stddev, random.stream};
  return owner.record(owner.device().run(kernel, std::move(x).value(), random.key),
                      static_cast<bool>(from),
                      [from](auto& to, auto dy) { to.add(from, std::move(dy)); });
}

}  // namespace glia::ops
