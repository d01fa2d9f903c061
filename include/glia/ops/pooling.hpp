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
  auto [y, position] = owner.device().run(kernels::max_pool2d{window}, std::move(x).value());
  return owner.record(
      std::move(y), static_cast<bool>(from),
      [from, before, window, position = std::move(position)](auto& to, auto dy) {
        to.add(from, to.device().run(kernels::max_pool2d_gradient{window, sample_of(before)},
                                     std::move(dy), position));
      });
}

/// max_pool2d(conv2d(x, w, bias)), in one kernel where the backend has it and the two fit.
template <backend B>
[[nodiscard]] variable<B> conv2d_max_pool2d(const variable<B>& x, const variable<B>& w,
                                            const std::optional<variable<B>>& bias,
                                            const convolution_pooling& how,
                                            const unary_map& map = identity_map) {
  if constexpr (runs<B, kernels::conv2d_max_pool2d>) {
    if (pools_fuse(map, how.pool)) {
      const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
      const bool wanted = x.needs_gradient() || w.needs_gradient() || to_bias;
      auto [y, winners] = x.device().run(kernels::conv2d_max_pool2d{how, map, wanted}, x.value(),
                                         w.value(), bias ? bias->value() : typename B::tensor{});
      return x.owner().record(
          std::move(y), wanted,
          [x, w, to_bias, how, winners = std::move(winners)](auto& to, auto dy) {
            auto [dx, dw, dbias] =
                to.device().run(kernels::conv2d_max_pool2d_gradient{how, x.needs_gradient()},
                                std::move(dy), x.value(), w.value(), winners);
            if (to_bias) {
              to.add(to_bias, std::move(dbias));
            }
            if (w.needs_gradient()) {
              to.add(w.slot(), std::move(dw));
            }
            if (x.needs_gradient()) {
              to.add(x.slot(), std::move(dx));
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
  return owner.record(
      owner.device().run(kernels::avg_pool2d{window}, std::move(x).value()),
      static_cast<bool>(from), [from, before, window](auto& to, auto dy) {
        to.add(from, to.device().run(kernels::avg_pool2d_gradient{window, sample_of(before)},
                                     std::move(dy)));
      });
}

}  // namespace glia::ops
