#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/noise.hpp"

namespace glia::ops {

GLIA_INLINE variable gaussian_noise(variable x, double stddev, const random_source& random) {
  tape& owner = x.owner();
  const gradient_slot from = x.slot();
  const kernels::gaussian_noise kernel{stddev, random.stream};
  return owner.record(owner.device().run(kernel, std::move(x).value(), random.key),
                      static_cast<bool>(from),
                      [from](auto& to, auto dy) { to.add(from, std::move(dy)); });
}

}  // namespace glia::ops
