#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/noise.hpp"

namespace glia::ops {

GLIA_INLINE variable gaussian_noise(variable x, double stddev, const random_source& random) {
  return call(x.owner(), kernels::gaussian_noise{stddev, random.stream}, std::move(x), random.key);
}

}  // namespace glia::ops
