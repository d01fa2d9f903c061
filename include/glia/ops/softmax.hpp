#pragma once

#include <concepts>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Returns the softmax over the last axis, exp(x) / sum(exp(x)).
[[nodiscard]] variable softmax(variable x);

// Only reports that an array is no variable.
template <class Array>
requires requires { typename Array::value_type; }
auto softmax(const Array&) {
  static_assert(!std::same_as<Array, Array>,
                "ops::softmax: expected a variable on a tape, got an array; for the probabilities "
                "of an array of logits, write glia::softmax(x)");
}

/// Returns the cross-entropy -sum_k targets_k ln softmax(logits)_k over the last axis.
///
/// Logits and targets have the shape (..., K), and the result has the shape (...). The targets have
/// no gradient.
[[nodiscard]] variable softmax_cross_entropy(variable logits, tensor targets);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/softmax_impl.hpp"
#endif
