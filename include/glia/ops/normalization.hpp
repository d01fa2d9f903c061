#pragma once

#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// A normalised variable and the statistics it was normalised with, which carry no gradient.
template <backend B>
struct normalized_variable {
  variable<B> output;
  typename B::tensor mean;
  typename B::tensor variance;
};

/// gamma (x - mean) / sqrt(variance + epsilon) + beta with the statistics of x itself, of every
/// channel over the batch or of every row over its features; gamma and beta: (C).
template <backend B>
[[nodiscard]] normalized_variable<B> normalize(normalization kind, const variable<B>& x,
                                               const variable<B>& gamma, const variable<B>& beta,
                                               double epsilon) {
  auto [y, mean, variance] =
      x.device().run(kernels::normalize{kind, epsilon}, x.value(), gamma.value(), beta.value());
  variable<B> output = x.owner().record(
      std::move(y), x.needs_gradient() || gamma.needs_gradient() || beta.needs_gradient(),
      [kind, x, gamma, to_beta = beta.slot(), mean = mean, variance = variance, epsilon](auto& to,
                                                                                         auto dy) {
        auto [dx, dgamma, dbeta] =
            to.device().run(kernels::normalize_gradient{kind, epsilon}, std::move(dy), x.value(),
                            gamma.value(), mean, variance);
        if (x.needs_gradient()) {
          to.add(x.slot(), std::move(dx));
        }
        if (gamma.needs_gradient()) {
          to.add(gamma.slot(), std::move(dgamma));
        }
        if (to_beta) {
          to.add(to_beta, std::move(dbeta));
        }
      });
  return {std::move(output), std::move(mean), std::move(variance)};
}

}  // namespace glia::ops
