#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/layers/step_table.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"

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
        cosine_(step_table(s, steps, pairs_,
                           [&](std::size_t t, std::size_t pair) {
                             return std::cos(step_angle(t, pair, features, max_wavelength));
                           })),
        sine_(step_table(s, steps, pairs_, [&](std::size_t t, std::size_t pair) {
          return std::sin(step_angle(t, pair, features, max_wavelength));
        })) {}

  /// Rotates queries or keys (N, H, T, K).
  [[nodiscard]] variable rotate(const variable& x) const {
    const std::vector<variable> halves = ops::split(x, 3, {pairs_, pairs_});
    return ops::concat(
        {halves[0] * cosine_ - halves[1] * sine_, halves[1] * cosine_ + halves[0] * sine_}, 3);
  }

 private:
  std::size_t pairs_;
  tensor cosine_;  // (T, K / 2), as is the sine
  tensor sine_;
};

}  // namespace glia::detail
