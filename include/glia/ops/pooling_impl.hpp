#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/pooling.hpp"

namespace glia::ops {

GLIA_INLINE variable max_pool2d(variable x, const window2d& window) {
  return call(x.owner(), kernels::max_pool2d{window}, std::move(x));
}

GLIA_INLINE variable avg_pool2d(variable x, const window2d& window) {
  return call(x.owner(), kernels::avg_pool2d{window}, std::move(x));
}

}  // namespace glia::ops
