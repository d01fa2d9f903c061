#pragma once

// The inputs and outputs of a recorded training step.

#include <cstddef>
#include <string>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/training/running_scores_impl.hpp"
#include "glia/training/step_program_impl.hpp"

namespace glia::detail {

GLIA_INLINE targets<recorder> targets_input(const recorder& to, const tensor_spec& spec) {
  const auto input = to.samples("targets", spec);
  targets<recorder> t;
  (spec.type == element::index ? t.labels : t.values) = input;
  return t;
}

GLIA_INLINE void output_sums(const recorder& to, const step_results<recorder>& step,
                             const targets<recorder>& t, const scoring& scores,
                             const recorder::tensor& present) {
  const auto sums = sums_of(to, step.losses, step.outputs, t, scores, present);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    to.output(text("sum.", i), sums[i]);
  }
  if (scores.needs_outputs()) {
    to.output("outputs", step.outputs);
  }
}

GLIA_INLINE recorder::tensor present_input(const recorder& to, std::size_t rows) {
  return to.samples("present", real_of({rows}));
}

GLIA_INLINE step_inputs<recorder> batch_inputs(const recorder& to, const step_shapes& shapes) {
  step_inputs<recorder> in{.x = to.samples("inputs", real_of(shapes.inputs)),
                           .t = targets_input(to, shapes.targets),
                           .key = to.input("key", {{step_key::words}, element::index}),
                           .numbers = {}};
  return in;
}

GLIA_INLINE void set_next(const recorder& to, const parameter_list<recorder>& before,
                          const parameter_list<recorder>& after,
                          const slot_lists<recorder>& kept_before,
                          const slot_lists<recorder>& kept) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    to.next(before[i].value, after[i].value);
    for (std::size_t j = 0; j < kept[i].size(); ++j) {
      to.next(kept_before[i][j], kept[i][j]);
    }
  }
}

}  // namespace glia::detail
