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

GLIA_INLINE targets targets_input(const recorder& rec, const target_spec& spec) {
  const auto input = rec.samples("targets", spec.values);
  targets t;
  (spec.values.type == element::index ? t.labels : t.values) = input;
  if (spec.has_weights) {
    t.weights = rec.samples("weights", real_of({spec.values.shape[0]}));
  }
  return t;
}

GLIA_INLINE void output_sums(const recorder& rec, const step_results& step, const targets& t,
                             const scoring& scores, const tensor& present) {
  const auto sums = sums_of(rec, step.losses, step.outputs, t, scores, present);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    rec.output(text("sum.", i), sums[i]);
  }
  if (scores.needs_outputs()) {
    rec.output("outputs", step.outputs);
  }
}

GLIA_INLINE tensor present_input(const recorder& rec, std::size_t rows) {
  return rec.samples("present", real_of({rows}));
}

GLIA_INLINE step_inputs batch_inputs(const recorder& rec, const step_shapes& shapes) {
  step_inputs inputs{.x = rec.samples("inputs", real_of(shapes.inputs)),
                     .t = targets_input(rec, shapes.targets),
                     .key = rec.input("key", {{step_key::words}, element::index}),
                     .numbers = {}};
  return inputs;
}

GLIA_INLINE void set_next(const recorder& rec, const parameter_list& old_parameters,
                          const parameter_list& new_parameters, const slot_lists& old_slots,
                          const slot_lists& new_slots) {
  for (std::size_t i = 0; i < new_parameters.size(); ++i) {
    rec.next(old_parameters[i].value, new_parameters[i].value);
    for (std::size_t j = 0; j < new_slots[i].size(); ++j) {
      rec.next(old_slots[i][j], new_slots[i][j]);
    }
  }
}

}  // namespace glia::detail
