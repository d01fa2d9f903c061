#pragma once

#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Rounds numbers to the values that 8-bit integers represent; see `kernels::fake_quantize`.
///
/// `scales` is a tensor with one number, or with one number for each index of the last axis. In the
/// backward pass, the gradient passes through the rounding unchanged. It is 0 for numbers outside
/// the range of the integers. Source: Bengio et al., Estimating or Propagating Gradients Through
/// Stochastic Neurons (2013).
[[nodiscard]] variable fake_quantize(variable x, const tensor& scales,
                                     const kernels::byte_range& range);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/quantization_impl.hpp"
#endif
