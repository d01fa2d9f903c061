#pragma once

#include <utility>
#include <vector>

#include "glia/core/function_ref.hpp"
#include "glia/graph/recorder.hpp"
#include "glia/layers/plan.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Plans the model that the function `describe` runs.
template <class B>
[[nodiscard]] model_plan plan(
    function_ref<variable<recorder<B>>(scope<recorder<B>>&, variable<recorder<B>>)> describe,
    const shape& sample) {
  require<shape_error>(sample.size() > 0,
                       "model: expected a sample shape with extents of at least 1, got ", sample);
  using R = recorder<B>;
  const R calls;
  tape<R> on(calls);
  parameter_list<R> parameters;
  std::vector<gradient_slot> slots;
  plan_writer plan(calls.recorded(), batch_of(1, sample));
  scope<R> s(on, parameters, slots, plan);
  variable<R> y = describe(s, on.constant(calls.input("inputs", real_of(batch_of(1, sample)))));
  const shape output = y.shape();
  const variable<R> total = ops::sum(std::move(y));
  plan.end_forward(output);
  if (total.needs_gradient()) {
    on.backward(total);
  }
  return std::move(plan).finish();
}

}  // namespace detail

/// Plans a description for samples of a shape: finds all shapes, names the parameters, and counts
/// the costs of each layer. It records a forward and a backward pass for one sample, but computes
/// nothing. B is the backend that the model will run on.
///
/// If a layer does not fit its input, throws the error of the layer, with the layer's name.
template <class B = shapes_only, layer Description>
[[nodiscard]] model_plan plan_model(const Description& description, const shape& sample) {
  using R = recorder<B>;
  model_plan result = detail::plan<B>(
      [&](scope<R>& s, variable<R> x) { return s.run_model(description, std::move(x)); }, sample);
  result.description = description.description();
  return result;
}

}  // namespace glia
