#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/comparisons.hpp"
#include "glia/ops/noise.hpp"

namespace glia::ops {

GLIA_INLINE variable gaussian_noise(variable x, double stddev, const random_source& random) {
  return call(x.owner(), kernels::gaussian_noise{stddev, random.stream}, std::move(x), random.key);
}

GLIA_INLINE variable random_normal_like(const variable& x, const random_source& random) {
  // A comparison with itself is 0 for every element, even for NaN.
  return gaussian_noise(x.owner().constant(greater(x, x)), 1, random);
}

}  // namespace glia::ops
