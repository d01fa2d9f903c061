#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

/// What next(step, before) makes of the steps of `projected` (N, T, O), one after the other from
/// the first, or `backwards` from the last, where `outputs(state)` (N, U) are what is given: of all
/// steps, (N, T, U), each where its step stands, or of the one that comes last, (N, U).
template <backend B, class State, class Next, class Outputs>
[[nodiscard]] variable<B> run_steps(const variable<B>& projected, State state, const Next& next,
                                    const Outputs& outputs, bool backwards, bool all) {
  const shape in = projected.shape();
  std::vector<variable<B>> steps = ops::split(projected, 1, std::vector<std::size_t>(in[1], 1));
  if (backwards) {
    std::reverse(steps.begin(), steps.end());
  }
  std::vector<variable<B>> given;
  for (const variable<B>& step : steps) {
    state = next(ops::reshape(step, {in[0], in[2]}), std::move(state));
    if (all) {
      const variable<B>& y = outputs(state);
      given.push_back(ops::reshape(y, {in[0], 1, y.shape()[1]}));
    }
  }
  if (!all) {
    return outputs(state);
  }
  if (backwards) {
    std::reverse(given.begin(), given.end());
  }
  return ops::concat(given, 1);
}

/// Throws what all recurrent layers throw for inputs and settings that they do not take.
template <backend B>
void expect_sequences(const scope<B>& s, const shape& x, std::size_t units, double dropout,
                      double recurrent_dropout) {
  s.expect(x.rank() == 3 && x[1] > 0, "expected sequences (N, T, C) of at least one step, got ",
           batch_text(x), "; add reshape{{T, C}} before it");
  s.expect_value(units > 0, "expected at least 1 unit");
  s.expect_value(dropout >= 0 && dropout < 1 && recurrent_dropout >= 0 && recurrent_dropout < 1,
                 "expected rates of dropout in [0, 1)");
}

}  // namespace glia::detail
