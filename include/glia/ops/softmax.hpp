#pragma once

#include <concepts>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Returns the softmax over the last axis, exp(x) / sum(exp(x)).
template <backend B>
[[nodiscard]] variable<B> softmax(variable<B> x) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  typename B::tensor y = owner.device().run(kernels::softmax{}, std::move(x).value());
  typename B::tensor saved = from ? y : typename B::tensor{};
  return owner.record(
      std::move(y), static_cast<bool>(from), [from, saved = std::move(saved)](auto& to, auto dy) {
        to.add(from, to.device().run(kernels::softmax_gradient{}, std::move(dy), saved));
      });
}

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
template <backend B>
[[nodiscard]] variable<B> softmax_cross_entropy(variable<B> logits, typename B::tensor targets) {
  tape<B>& owner = logits.owner();
  const gradient_slot from = logits.slot();
  auto [loss, probabilities] =
      owner.device().run(kernels::softmax_cross_entropy{}, std::move(logits).value(), targets);
  return owner.record(std::move(loss), static_cast<bool>(from),
                      [from, kept = std::move(probabilities), targets = std::move(targets)](
                          auto& to, auto dy) mutable {
                        to.add(from,
                               to.device().run(kernels::softmax_cross_entropy_gradient{},
                                               std::move(dy), std::move(kept), std::move(targets)));
                      });
}

}  // namespace glia::ops
