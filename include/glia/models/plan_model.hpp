#pragma once

#include <utility>
#include <vector>

#include "glia/backends/cost.hpp"
#include "glia/layers/plan.hpp"
#include "glia/layers/scope.hpp"

namespace glia {

/// Runs a description on the counting backend with one sample of the given shape: finds every
/// shape, names the parameters and counts what each layer takes.
///
/// Throws what the layers throw when something does not fit, naming the layer.
template <layer Description>
[[nodiscard]] model_plan plan_model(const Description& description, const shape& sample) {
  require<shape_error>(sample.size() > 0,
                       "model: expected samples of extents of at least 1, got shape ", sample);
  const cost<float> counter;
  tape<cost<float>> record(counter);
  parameter_list<cost<float>> parameters;
  std::vector<gradient_slot> slots;
  plan_writer plan(counter, batch_of(1, sample));
  scope<cost<float>> s(record, parameters, slots, plan);
  const variable<cost<float>> y =
      s.run_model(description, record.constant(counter.run(kernels::full{batch_of(1, sample), 0})));
  return std::move(plan).finish(y.shape());
}

}  // namespace glia
