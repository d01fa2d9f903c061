#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/recurrence.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

/// A state after a step that counts for some samples (N, 1): the new one for these.
template <backend B>
[[nodiscard]] variable<B> state_after(const typename B::tensor& counts, const variable<B>& now,
                                      const variable<B>& before) {
  return ops::select(counts, now, before);
}

/// Which steps are read, and what is given of them.
struct reading {
  bool backwards = false;
  bool sequences = false;             // all steps and not the last one alone
  bool zero_output_for_mask = false;  // where a step is passed over
};

/// All steps (N, T, U), with zeros where they are passed over if that is asked for.
template <backend B>
[[nodiscard]] variable<B> all_steps(variable<B> all, const typename B::tensor& mask,
                                    const reading& how) {
  if (!mask || !how.zero_output_for_mask) {
    return all;
  }
  const shape of_steps{all.shape()[0], all.shape()[1], 1};
  return std::move(all) * all.device().run(kernels::reshape{of_steps}, mask);
}

/// Whether a backend runs all steps of a recurrent layer in one kernel.
template <class B>
concept runs_recurrence = runs<B, kernels::recurrence> && runs<B, kernels::recurrence_gradient>;

/// What `run_steps` gives, by such a kernel: of a cell whose states are multiplied by `scale`, if
/// there is one, before their product with `recurrent`.
template <runs_recurrence B>
[[nodiscard]] variable<B> run_at_once(recurrent_cell cell, variable<B> projected,
                                      const typename B::tensor& mask, const variable<B>& recurrent,
                                      const std::optional<variable<B>>& bias,
                                      const typename B::tensor& scale, const reading& how) {
  variable<B> all =
      ops::recurrence(cell, how.backwards, std::move(projected), recurrent, bias, scale, mask);
  if (how.sequences) {
    return all_steps(std::move(all), mask, how);
  }
  const shape s = all.shape();
  const std::size_t last = how.backwards ? 0 : s[1] - 1;
  return ops::reshape(ops::slice(all, {.axis = 1, .begin = last}), {s[0], s[2]});
}

/// What next(step, before) makes of the steps of `projected` (N, T, O), one after the other from
/// the first, or `backwards` from the last, where `outputs(state)` (N, U) are what is given: of all
/// steps, (N, T, U), each where its step stands, or of the one that comes last, (N, U). A step that
/// is not in `mask` (N, T), if there is one, leaves the sample's state as it was.
template <backend B, class State, class Next, class Outputs>
[[nodiscard]] variable<B> run_steps(const variable<B>& projected, const typename B::tensor& mask,
                                    State state, const Next& next, const Outputs& outputs,
                                    const reading& how) {
  const shape in = projected.shape();
  const std::vector<variable<B>> steps =
      ops::split(projected, 1, std::vector<std::size_t>(in[1], 1));
  std::vector<variable<B>> given;
  for (std::size_t i = 0; i < in[1]; ++i) {
    const std::size_t t = how.backwards ? in[1] - 1 - i : i;
    State now = next(ops::reshape(steps[t], {in[0], in[2]}), state);
    if (mask) {
      const auto counts = projected.device().run(kernels::slice{.axis = 1, .begin = t}, mask);
      state = state_after(counts, now, state);
    } else {
      state = std::move(now);
    }
    if (how.sequences) {
      const variable<B>& y = outputs(state);
      given.push_back(ops::reshape(y, {in[0], 1, y.shape()[1]}));
    }
  }
  if (!how.sequences) {
    return outputs(state);
  }
  if (how.backwards) {
    std::reverse(given.begin(), given.end());
  }
  return all_steps(ops::concat(given, 1), mask, how);
}

/// Throws what all recurrent layers throw for inputs and settings that they do not take.
template <backend B>
void expect_sequences(const scope<B>& s, const shape& x, std::size_t units, double dropout,
                      double recurrent_dropout) {
  s.expect(x.rank() == 3 && x[1] > 0, "expected sequences (N, T, C) of at least one step, got ",
           batch_text(x),
           "; add reshape{{T, C}} before it, or .sequences = true to a recurrent layer before it");
  s.expect_value(units > 0, "expected at least 1 unit");
  s.expect_value(dropout >= 0 && dropout < 1 && recurrent_dropout >= 0 && recurrent_dropout < 1,
                 "expected rates of dropout in [0, 1)");
}

}  // namespace glia::detail
