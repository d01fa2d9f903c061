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

/// Returns the state after a step: `now` for samples with 1 in `counts` (N, 1), and `before` for
/// samples with 0.
template <backend B>
[[nodiscard]] variable<B> state_after(const typename B::tensor& counts, const variable<B>& now,
                                      const variable<B>& before) {
  return ops::where(counts, now, before);
}

/// The order in which steps are read, and the outputs that are returned.
struct reading {
  bool backwards = false;             // from the last step to the first
  bool sequences = false;             // return all steps instead of the last one
  bool zero_output_for_mask = false;  // return 0 for steps that the mask excludes
};

/// Returns the outputs `all` (N, T, U), set to 0 at padding steps if `how.zero_output_for_mask` is
/// true.
template <backend B>
[[nodiscard]] variable<B> all_steps(variable<B> all, const typename B::tensor& mask,
                                    const reading& how) {
  if (!mask || !how.zero_output_for_mask) {
    return all;
  }
  const shape of_steps{all.shape()[0], all.shape()[1], 1};
  return std::move(all) * all.device().run(kernels::reshape{of_steps}, mask);
}

/// A backend type whose devices can run all steps of a recurrent layer in one kernel.
template <class B>
concept runs_recurrence = runs<B, kernels::recurrence> && runs<B, kernels::recurrence_gradient>;

/// Returns whether a device does so.
template <backend B>
[[nodiscard]] bool has_recurrence(const B& device) {
  return has_fused<kernels::recurrence>(device) && has_fused<kernels::recurrence_gradient>(device);
}

/// Computes the same as `run_steps` in one kernel. If `scale` is not empty, the state is multiplied
/// by `scale` before each product with `recurrent`.
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

/// Runs a recurrent cell over the steps of `projected` (N, T, O), in the order that `how` defines.
///
/// `next(step, state)` returns the next state, and `outputs(state)` returns the output (N, U) of a
/// state. With `how.sequences`, the result is the outputs of all steps, (N, T, U), each at the
/// position of its step. Without `how.sequences`, the result is the last output, (N, U). If `mask`
/// (N, T) is 0 at a step of a sample, this step does not change the sample's state. An empty mask
/// means that no step is padding.
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

/// Checks the input and the options that all recurrent layers share. Throws `shape_error` for the
/// input and `value_error` for an option.
template <backend B>
void expect_sequences(const scope<B>& s, const shape& x, std::size_t units, double dropout,
                      double recurrent_dropout) {
  s.expect(x.rank() == 3 && x[1] > 0, "expected sequences (N, T, C) with at least one step, got ",
           batch_text(x),
           "; add reshape{{T, C}} before it, or .return_sequences = true to a recurrent layer "
           "before it");
  s.expect_value(units > 0, "expected at least 1 unit, got 0; write .units = 10, for instance");
  s.expect_value(dropout >= 0 && dropout < 1 && recurrent_dropout >= 0 && recurrent_dropout < 1,
                 "expected dropout and recurrent_dropout in [0, 1), got ", dropout, " and ",
                 recurrent_dropout);
}

}  // namespace glia::detail
