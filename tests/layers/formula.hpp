#pragma once

#include <cstddef>
#include <vector>

#include "../golden/mlp_golden.hpp"
#include "catch.hpp"
#include "helpers.hpp"

namespace test {

/// The numbers that scripts for golden numbers make, too.
inline std::vector<float> by_formula(const glia::shape& s, std::size_t offset) {
  std::vector<float> values(s.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = glia_golden::formula(i, offset);
  }
  return values;
}

/// What a layer gives for an input with parameters that are all made by the formula.
template <class Layer>
std::vector<float> outputs_of(const Layer& layer, const glia::shape& batch,
                              const std::vector<float>& input,
                              const std::vector<std::size_t>& offsets) {
  const glia::model_plan plan = glia::plan_model(layer, glia::sample_of(batch));
  REQUIRE(plan.parameters.size() == offsets.size());
  std::vector<std::vector<float>> parameters;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    parameters.push_back(by_formula(plan.parameters[i].shape, offsets[i]));
  }
  return run_layer(layer, batch, input, parameters);
}

}  // namespace test
