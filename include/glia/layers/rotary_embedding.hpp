#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/layers/step_table.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

/// The angles of a rotary position embedding (Su et al., "RoFormer", 2021), for the steps of a
/// sequence or of a block.
///
/// With w = `max_wavelength`, feature i below K / 2 and feature i + K / 2 of step t are the
/// coordinates of a point, which is rotated by the angle t / w^(2 i / K). Products of queries and
/// keys then depend on the distances of their steps. KerasHub's RotaryEmbedding and the weights of
/// Llama have the same pairs of features; the paper pairs features 2 i and 2 i + 1.
class rotation {
 public:
  rotation(const scope& s, std::size_t steps, std::size_t features, double max_wavelength)
      : pairs_(features / 2),
        cosine_(for_heads(s, steps,
                          [&](std::size_t t, std::size_t pair) {
                            return std::cos(step_angle(t, pair, features, max_wavelength));
                          })),
        sine_(for_heads(s, steps, [&](std::size_t t, std::size_t pair) {
          return std::sin(step_angle(t, pair, features, max_wavelength));
        })) {}

  /// Rotates queries or keys (N, T, H K) of H heads.
  [[nodiscard]] variable rotate(const variable& x, std::size_t num_heads) const {
    const shape extents = x.shape();
    const std::vector<variable> halves = ops::split(
        ops::reshape(x, {extents[0], extents[1], num_heads, 2 * pairs_}), 3, {pairs_, pairs_});
    return ops::reshape(
        ops::concat(
            {halves[0] * cosine_ - halves[1] * sine_, halves[1] * cosine_ + halves[0] * sine_}, 3),
        extents);
  }

 private:
  /// Returns a table for the steps that is the same for all heads.
  template <class Number>
  [[nodiscard]] tensor for_heads(const scope& s, std::size_t steps, const Number& number) const {
    return s.device().run(kernels::reshape{{steps, 1, pairs_}},
                          step_table(s, steps, pairs_, number));
  }

  std::size_t pairs_;
  tensor cosine_;  // (T, 1, K / 2), as is the sine
  tensor sine_;
};

}  // namespace glia::detail
