#pragma once

#include <utility>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/core/inline.hpp"
#include "glia/layers/plan_writer.hpp"
#include "glia/models/plan_model.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

GLIA_INLINE model_plan plan(function_ref<variable(scope&, variable)> describe, const shape& sample,
                            const fused_kernel_set& fused) {
  require<shape_error>(sample.size() > 0,
                       "model: expected a sample shape with extents of at least 1, got ", sample);
  const recorder calls(fused);
  glia::tape tape(calls);
  parameter_list parameters;
  std::vector<gradient_slot> slots;
  plan_writer plan(*calls.recording(), batch_of(1, sample));
  scope s(tape, parameters, slots, plan);
  variable y = describe(s, tape.constant(calls.input("inputs", real_of(batch_of(1, sample)))));
  const shape output = y.shape();
  const value_id result = y.value().number();
  const variable total = ops::sum(y);
  plan.end_forward(result, output);
  if (total.needs_gradient()) {
    tape.backward(total);
  }
  return std::move(plan).finish();
}

}  // namespace glia::detail
