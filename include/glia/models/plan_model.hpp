#pragma once

#include <utility>

#include "glia/core/function_ref.hpp"
#include "glia/layers/plan.hpp"
#include "glia/layers/scope.hpp"

namespace glia {

namespace detail {

/// Plans the model that the function `describe` runs.
[[nodiscard]] model_plan plan(function_ref<variable(scope&, variable)> describe,
                              const shape& sample, const fused_kernel_set& fused);

}  // namespace detail

/// Plans a description for samples of a shape: finds all shapes, names the parameters, and counts
/// the costs of each layer. It records a forward and a backward pass for one sample, but computes
/// nothing. `fused` are the fused kernels of the device that the model will run on.
///
/// If a layer does not fit its input, throws the error of the layer, with the layer's name.
template <layer Description>
[[nodiscard]] model_plan plan_model(const Description& description, const shape& sample,
                                    const fused_kernel_set& fused = {}) {
  model_plan result = detail::plan(
      [&](scope& s, variable x) { return s.run_model(description, x); }, sample, fused);
  result.description = description.description();
  return result;
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/plan_model_impl.hpp"
#endif
