#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/softmax.hpp"

namespace glia::ops {

GLIA_INLINE variable softmax(variable x) {
  return call(x.owner(), kernels::softmax{}, std::move(x));
}

GLIA_INLINE variable softmax_cross_entropy(variable logits, tensor targets) {
  return call(logits.owner(), kernels::softmax_cross_entropy{}, std::move(logits),
              std::move(targets));
}

}  // namespace glia::ops
