#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/layers/stream_recording.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia::detail {

/// Rotary position embedding (Su et al., "RoFormer", 2021) of queries or keys x (N, H, T, K).
///
/// With w = `max_wavelength`, feature i below K / 2 and feature i + K / 2 of step t are the
/// coordinates of a point, which is rotated by the angle t / w^(2 i / K). Products of queries and
/// keys then depend on the distances of their steps. KerasHub's RotaryEmbedding and the weights of
/// Llama have the same pairs of features; the paper pairs features 2 i and 2 i + 1.
[[nodiscard]] inline variable rotate_by_position(const scope& s, const variable& x,
                                                 double max_wavelength) {
  const std::size_t pairs = x.shape()[3] / 2;
  const std::size_t steps = s.stream() == nullptr ? x.shape()[2] : s.stream()->max_steps();
  std::vector<double> cosines(steps * pairs);
  std::vector<double> sines(steps * pairs);
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(pairs);
      const double angle = static_cast<double>(t) / std::pow(max_wavelength, share);
      cosines[t * pairs + i] = std::cos(angle);
      sines[t * pairs + i] = std::sin(angle);
    }
  }
  const auto for_steps = [&](const std::vector<double>& table) {
    const tensor all = s.device().from_host(std::span<const double>(table), {steps, pairs});
    return s.stream() == nullptr ? all : s.stream()->rows_of(all);
  };
  const tensor cosine = for_steps(cosines);
  const tensor sine = for_steps(sines);
  const std::vector<variable> halves = ops::split(x, 3, {pairs, pairs});
  return ops::concat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine},
                     3);
}

}  // namespace glia::detail
