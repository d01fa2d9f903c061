#pragma once

#include <map>
#include <string>
#include <vector>

#include "glia/core/xtensor.hpp"
#include "glia/data/named_arrays.hpp"
#include "glia/models/model.hpp"

namespace glia {

/// Computes the named outputs of a model with several inputs or outputs.
///
///     const auto y = glia::predict(net, {{"image", images}, {"age", ages}});
///     const xt::xarray<float>& digits = y.at("digit");
///
/// A model has named inputs if it begins with the layer `inputs`, and named outputs if it ends with
/// the layer `outputs`. Pass the inputs in the model's order. If the model has a single output
/// without a name, it is called "output".
///
/// Throws `value_error` if the names of the inputs differ from the model's names, and `shape_error`
/// if their shapes differ.
template <layer Description>
[[nodiscard]] std::map<std::string, xt::xarray<float>> predict(
    const model<Description>& net, const std::vector<named_array>& inputs,
    const predict_options& options = {}) {
  const model_plan& plan = net.plan();
  const auto parts = detail::parts_of("predict", inputs, detail::sample_count(inputs));
  detail::require_parts("predict", "inputs", plan.inputs, parts);
  const xt::xarray<float> y = net.predict(rows_of(inputs), options);
  std::map<std::string, xt::xarray<float>> result;
  for (const row_part& part : plan.outputs) {
    result.emplace(part.name, part_of(y, part.name, plan.outputs));
  }
  if (plan.outputs.empty()) {
    result.emplace("output", y);
  }
  return result;
}

}  // namespace glia
