#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/layers/stream_recording.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/recurrence.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

/// Returns the state after a step: `new_state` for samples with 1 in `counts` (N, 1), and
/// `old_state` for samples with 0.
[[nodiscard]] inline variable state_after(const tensor& counts, const variable& new_state,
                                          const variable& old_state) {
  return ops::where(counts, new_state, old_state);
}

/// The order in which steps are read, and the outputs that are returned.
struct reading {
  bool backwards = false;             // from the last step to the first
  bool sequences = false;             // return all steps instead of the last one
  bool zero_output_for_mask = false;  // return 0 for steps that the mask excludes
};

/// Returns `outputs` (N, T, U), set to 0 at padding steps if `options.zero_output_for_mask` is
/// true.
[[nodiscard]] inline variable all_steps(variable outputs, const tensor& mask,
                                        const reading& options) {
  if (!mask || !options.zero_output_for_mask) {
    return outputs;
  }
  const shape of_steps{outputs.shape()[0], outputs.shape()[1], 1};
  return outputs * outputs.device().run(kernels::reshape{of_steps}, mask);
}

/// Returns whether a device can run all steps of a recurrent layer in one kernel.
[[nodiscard]] inline bool has_recurrence(const glia::device& device) {
  return has_fused<kernels::recurrence>(device) && has_fused<kernels::recurrence_gradient>(device);
}

/// The memory of a recurrent layer before the first step of a sequence or block: zeros, or the
/// memory that a stream keeps from block to block. It consists of `count` parts (N, U).
class step_memory {
 public:
  step_memory(const scope& s, tape& owner, std::size_t samples, std::size_t units,
              std::size_t count, const reading& options)
      : stream_(s.stream()), owner_(&owner), part_{samples, units}, count_(count) {
    if (stream_ == nullptr) {
      return;
    }
    s.expect_value(!options.backwards,
                   "stream: a layer that reads backwards begins with the last step; predict whole "
                   "sequences");
    s.expect_value(options.sequences,
                   "stream: expected an output for each step; set return_sequences");
    s.expect_value(!s.step_mask(),
                   "stream: sequences with padding steps cannot run in blocks; remove the mask");
    memory_ = stream_->state({samples, count * units});
  }

  /// Returns the memory (N, count U) that the stream keeps. It is empty without a stream.
  [[nodiscard]] const tensor& kept() const { return memory_; }
  /// Sets the memory after the last step of a block.
  void set_next(const tensor& memory) const { stream_->set_next(memory_, memory); }

  /// Returns the parts of the memory before the first step.
  [[nodiscard]] std::vector<variable> parts() const {
    if (!memory_) {
      const variable zeros = owner_->constant(owner_->device().run(kernels::full{part_, 0}));
      return std::vector<variable>(count_, zeros);
    }
    return ops::split(owner_->constant(memory_), 1, std::vector<std::size_t>(count_, part_[1]));
  }
  /// Keeps the parts of the memory after the last step.
  void keep(const std::vector<variable>& parts) const {
    if (memory_) {
      set_next(ops::concat(parts, 1).value());
    }
  }

 private:
  stream_recording* stream_;
  tape* owner_;
  shape part_;
  std::size_t count_;
  tensor memory_;
};

/// Computes the same as `run_steps` in one kernel. If `scale` is not empty, the state is multiplied
/// by `scale` before each product with `recurrent`.
[[nodiscard]] inline variable run_at_once(recurrent_cell cell, variable projected,
                                          const step_memory& memory, const tensor& mask,
                                          const variable& recurrent,
                                          const std::optional<variable>& bias, const tensor& scale,
                                          const reading& options) {
  if (memory.kept()) {
    tape& owner = projected.owner();
    auto results =
        ops::call_kernel(owner, kernels::recurrence{.cell = cell, .keeps = false},
                         {std::move(projected), recurrent, bias, scale, mask, memory.kept()});
    memory.set_next(results.rest[1]);
    return std::move(results.first);
  }
  variable outputs =
      ops::recurrence(cell, options.backwards, std::move(projected), recurrent, bias, scale, mask);
  if (options.sequences) {
    return all_steps(std::move(outputs), mask, options);
  }
  const shape s = outputs.shape();
  const std::size_t last = options.backwards ? 0 : s[1] - 1;
  return ops::reshape(ops::slice(outputs, {.axis = 1, .begin = last}), {s[0], s[2]});
}

/// Runs a recurrent cell over the steps of `projected` (N, T, O), backwards if `options.backwards`
/// is true.
///
/// `next(step, state)` returns the next state, and `outputs(state)` returns the output (N, U) of a
/// state. With `options.sequences`, the result is the outputs of all steps, (N, T, U), each at the
/// position of its step. Without `options.sequences`, the result is the last output, (N, U). If
/// `mask` (N, T) is 0 at a step of a sample, this step does not change the sample's state. An empty
/// mask means that no step is padding. `state` is the state before the first step, and then the
/// state after the last one.
template <class State, class Next, class Outputs>
[[nodiscard]] variable run_steps(const variable& projected, const tensor& mask, State& state,
                                 const Next& next, const Outputs& outputs, const reading& options) {
  const shape extents = projected.shape();
  const std::vector<variable> steps =
      ops::split(projected, 1, std::vector<std::size_t>(extents[1], 1));
  std::vector<variable> results;
  for (std::size_t i = 0; i < extents[1]; ++i) {
    const std::size_t t = options.backwards ? extents[1] - 1 - i : i;
    State new_state = next(ops::reshape(steps[t], {extents[0], extents[2]}), state);
    if (mask) {
      const auto counts = projected.device().run(kernels::slice{.axis = 1, .begin = t}, mask);
      state = state_after(counts, new_state, state);
    } else {
      state = std::move(new_state);
    }
    if (options.sequences) {
      const variable& y = outputs(state);
      results.push_back(ops::reshape(y, {extents[0], 1, y.shape()[1]}));
    }
  }
  if (!options.sequences) {
    return outputs(state);
  }
  if (options.backwards) {
    std::reverse(results.begin(), results.end());
  }
  return all_steps(ops::concat(results, 1), mask, options);
}

/// Checks the input and the options that all recurrent layers share. Throws `shape_error` for the
/// input and `value_error` for an option.
inline void expect_sequences(const scope& s, const shape& x, std::size_t units, double dropout,
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
