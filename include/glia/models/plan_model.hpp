#pragma once

#include <utility>
#include <vector>

#include "glia/core/function_ref.hpp"
#include "glia/graph/recorder.hpp"
#include "glia/layers/plan.hpp"
#include "glia/layers/scope.hpp"

namespace glia {

namespace detail {

/// Plans what `describe` runs.
template <class B>
[[nodiscard]] model_plan plan(
    function_ref<variable<recorder<B>>(scope<recorder<B>>&, variable<recorder<B>>)> describe,
    const shape& sample);

}  // namespace detail

/// Runs a description on a recorder with one sample of the given shape, forward and backward: finds
/// every shape, names the parameters and counts what each layer takes. B is the backend that the
/// model will run on, if any.
///
/// Throws what the layers throw when something does not fit, naming the layer.
template <class B = shapes_only, layer Description>
[[nodiscard]] model_plan plan_model(const Description& description, const shape& sample) {
  using R = recorder<B>;
  return detail::plan<B>(
      [&](scope<R>& s, variable<R> x) { return s.run_model(description, std::move(x)); }, sample);
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/plan_model_impl.hpp"
#endif
