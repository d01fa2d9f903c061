#pragma once

#include <optional>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/recurrence.hpp"

namespace glia::ops {

GLIA_INLINE variable recurrence(recurrent_cell cell, bool backwards, variable x, const variable& w,
                                const std::optional<variable>& bias, const tensor& scale,
                                const tensor& counts) {
  const bool trained = x.needs_gradient() || w.needs_gradient() || (bias && bias->needs_gradient());
  return call(x.owner(), kernels::recurrence{cell, backwards, trained}, std::move(x), w, bias,
              scale, counts, tensor{});
}

}  // namespace glia::ops
