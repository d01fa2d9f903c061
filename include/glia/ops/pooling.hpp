#pragma once

#include <optional>
#include <utility>

#include "glia/ops/products.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// The largest value of every window of x (N, H, W, C); the gradient goes to where it stood.
template <backend B>
[[nodiscard]] variable<B> max_pool2d(variable<B> x, const window2d& window) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const shape before = x.shape();
  auto [y, position] = owner.device().max_pool2d(std::move(x).value(), window);
  return owner.record(
      std::move(y), static_cast<bool>(from),
      [from, before, window, position = std::move(position)](auto& to, auto dy) {
        to.add(from, to.device().max_pool2d_gradient(std::move(dy), position, window, before));
      });
}

/// max_pool2d(conv2d(x, w, bias)), in one kernel where the backend has it and the two fit.
template <backend B>
[[nodiscard]] variable<B> conv2d_max_pool2d(const variable<B>& x, const variable<B>& w,
                                            const std::optional<variable<B>>& bias,
                                            const convolution_pooling& how,
                                            const unary_map& map = identity_map) {
  if constexpr (pooling_convolution_backend<B>) {
    if (pools_fuse(map, how.pool)) {
      const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
      const bool wanted = x.needs_gradient() || w.needs_gradient() || to_bias;
      auto [y, winners] = x.device().conv2d_max_pool2d(
          x.value(), w.value(), bias ? bias->value() : typename B::tensor{}, map, how, wanted);
      return x.owner().record(
          std::move(y), wanted,
          [x, w, to_bias, how, winners = std::move(winners)](auto& to, auto dy) {
            auto gradient = to.device().conv2d_max_pool2d_gradient(
                std::move(dy), x.value(), w.value(), winners, how, x.needs_gradient());
            if (to_bias) {
              to.add(to_bias, std::move(gradient.bias));
            }
            if (w.needs_gradient()) {
              to.add(w.slot(), std::move(gradient.kernel));
            }
            if (x.needs_gradient()) {
              to.add(x.slot(), std::move(gradient.input));
            }
          });
    }
  }
  return max_pool2d(conv2d(x, w, bias, how.window, how.groups, map), how.pool);
}

/// The mean of every window of x (N, H, W, C), padding not counted.
template <backend B>
[[nodiscard]] variable<B> avg_pool2d(variable<B> x, const window2d& window) {
  tape<B>& owner = x.owner();
  const gradient_slot from = x.slot();
  const shape before = x.shape();
  return owner.record(owner.device().avg_pool2d(std::move(x).value(), window),
                      static_cast<bool>(from), [from, before, window](auto& to, auto dy) {
                        to.add(from,
                               to.device().avg_pool2d_gradient(std::move(dy), window, before));
                      });
}

}  // namespace glia::ops
