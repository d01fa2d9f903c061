#pragma once

#include "glia/kernels/attention.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

namespace detail {

/// Returns whether a device computes attention and its gradients in one kernel each.
[[nodiscard]] inline bool has_attention(const glia::device& device) {
  return has_fused<kernels::attention>(device) && has_fused<kernels::attention_gradient>(device);
}

}  // namespace detail

namespace ops {

/// Returns the scaled dot-product attention (N, T, H E) of several heads, computed by one kernel;
/// see `kernels::attention`.
[[nodiscard]] variable attention(kernels::attention k, variable queries, variable keys,
                                 variable values);

}  // namespace ops

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/ops/attention_impl.hpp"
#endif
