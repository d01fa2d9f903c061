#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/dropout.hpp"

namespace glia::ops {

GLIA_INLINE variable dropout(variable x, double rate, const random_source& random) {
  return call(x.owner(), kernels::dropout{rate, random.stream}, std::move(x), random.key);
}

}  // namespace glia::ops
