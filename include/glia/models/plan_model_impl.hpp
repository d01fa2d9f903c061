#pragma once

#include <utility>
#include <vector>

#include "glia/models/plan_model.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

template <class B>
model_plan plan(
    function_ref<variable<recorder<B>>(scope<recorder<B>>&, variable<recorder<B>>)> describe,
    const shape& sample) {
  require<shape_error>(sample.size() > 0,
                       "model: expected samples of extents of at least 1, got shape ", sample);
  using R = recorder<B>;
  const R calls;
  tape<R> record(calls);
  parameter_list<R> parameters;
  std::vector<gradient_slot> slots;
  plan_writer plan(calls.recorded(), batch_of(1, sample));
  scope<R> s(record, parameters, slots, plan);
  variable<R> y = describe(s, record.constant(calls.input("inputs", real_of(batch_of(1, sample)))));
  const shape output = y.shape();
  const variable<R> total = ops::sum(std::move(y));
  plan.end_forward(output);
  if (total.needs_gradient()) {
    record.backward(total);
  }
  return std::move(plan).finish();
}

}  // namespace glia::detail
