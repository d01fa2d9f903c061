#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/attention.hpp"
#include "glia/ops/call.hpp"

namespace glia::ops {

GLIA_INLINE variable attention(kernels::attention k, variable queries, variable keys,
                               variable values) {
  k.keeps = queries.needs_gradient() || keys.needs_gradient() || values.needs_gradient();
  return call(queries.owner(), k, std::move(queries), std::move(keys), std::move(values));
}

}  // namespace glia::ops
