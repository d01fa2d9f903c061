#pragma once

#include <map>
#include <string>
#include <vector>

#include "glia/core/xtensor.hpp"
#include "glia/data/named_arrays.hpp"
#include "glia/models/model.hpp"

namespace glia {

/// The outputs by name, for inputs by name: what a model gives that begins with `inputs`, in the
/// order that it has them, and ends in `outputs`.
///
///     const auto y = glia::predict(net, {{"image", images}, {"age", ages}});
///     const xt::xarray<float>& digits = y.at("digit");
///
/// Throws `value_error` for a model without such inputs and for inputs of other names,
/// `shape_error` for other shapes. The output of a model that has but one without a name is called
/// "output".
template <layer Description, backend B>
[[nodiscard]] std::map<std::string, xt::xarray<float>> predict(
    const model<Description, B>& net, const std::vector<named_array>& inputs,
    const predict_options& options = {}) {
  const model_plan& plan = net.plan();
  const auto given = detail::parts_of("predict", inputs, detail::sample_count(inputs));
  require_parts("predict", "inputs", plan.inputs, given);
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
