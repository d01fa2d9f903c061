#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/quantization.hpp"

namespace glia::ops {

GLIA_INLINE variable fake_quantize(variable x, const tensor& scales,
                                   const kernels::byte_range& range) {
  return call(x.owner(), kernels::fake_quantize{range}, std::move(x), scales);
}

}  // namespace glia::ops
