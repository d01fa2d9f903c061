#pragma once

#include <concepts>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/softmax.hpp"

namespace glia::ops {

GLIA_INLINE variable softmax(variable x) {
  tape& owner = x.owner();
  const gradient_slot from = x.slot();
  tensor y = owner.device().run(kernels::softmax{}, std::move(x).value());
  tensor saved = from ? y : tensor{};
  return owner.record(
      std::move(y), static_cast<bool>(from), [from, saved = std::move(saved)](auto& to, auto dy) {
        to.add(from, to.device().run(kernels::softmax_gradient{}, std::move(dy), saved));
      });
}

GLIA_INLINE variable softmax_cross_entropy(variable logits, tensor targets) {
  tape& owner = logits.owner();
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
