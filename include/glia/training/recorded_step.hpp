#pragma once

// The inputs and outputs of a recorded training step.

#include <cstddef>
#include <string>
#include <utility>

#include "glia/backends/recorder.hpp"
#include "glia/core/inline.hpp"
#include "glia/training/running_scores_impl.hpp"
#include "glia/training/step_program_impl.hpp"

namespace glia::detail {

GLIA_INLINE targets targets_input(const recorder& to, const tensor_spec& spec) {
  const auto input = to.samples("targets", spec);
  targets t;
  (spec.type == element::index ? t.labels : t.values) = input;
  return t;
}

GLIA_INLINE void output_sums(const recorder& to, const step_results& step, const targets& t,
                             const scoring& scores, const tensor& present) {
  const auto sums = sums_of(to, step.losses, step.outputs, t, scores, present);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    to.output(text("sum.", i), sums[i]);
  }
  if (scores.needs_outputs()) {
    to.output("outputs", step.outputs);
  }
}

GLIA_INLINE tensor present_input(const recorder& to, std::size_t rows) {
  return to.samples("present", real_of({rows}));
}

GLIA_INLINE step_inputs batch_inputs(const recorder& to, const step_shapes& shapes) {
  step_inputs in{.x = to.samples("inputs", real_of(shapes.inputs)),
                 .t = targets_input(to, shapes.targets),
                 .key = to.input("key", {{step_key::words}, element::index}),
                 .numbers = {}};
  return in;
}

GLIA_INLINE void set_next(const recorder& to, const parameter_list& before,
                          const parameter_list& after, const slot_lists& kept_before,
                          const slot_lists& kept) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    to.next(before[i].value, after[i].value);
    for (std::size_t j = 0; j < kept[i].size(); ++j) {
      to.next(kept_before[i][j], kept[i][j]);
    }
  }
}

}  // namespace glia::detail
