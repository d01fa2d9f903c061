#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"

namespace glia::passes {

GLIA_INLINE bool keeps_samples_apart(const graph& g, const graph_node& node,
                                     const std::vector<bool>& of_samples) {
  std::vector<batch_axis> operands(node.operands.size());
  std::vector<batch_axis> results(node.results.size());
  node.kernel.axes(g.specs(node.operands), operands, results);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (node.operands[i] != no_value && of_samples[node.operands[i]] &&
        operands[i] != batch_axis::rows) {
      return false;
    }
  }
  return std::all_of(results.begin(), results.end(),
                     [](batch_axis axis) { return axis == batch_axis::rows; });
}

GLIA_INLINE bool mixes_samples(const graph& step) {
  std::vector<std::size_t> samples;
  for (std::size_t i = 0; i < step.inputs().size(); ++i) {
    if (step.inputs()[i].of_samples) {
      samples.push_back(i);
    }
  }
  std::vector<bool> of_samples = glia::detail::fixed_values(step, samples);
  of_samples.flip();
  return std::any_of(step.nodes().begin(), step.nodes().end(), [&](const graph_node& node) {
    const bool concerned =
        std::any_of(node.operands.begin(), node.operands.end(),
                    [&](value_id id) { return id != no_value && of_samples[id]; });
    return step.place_of(node).phase == step_phase::forward && concerned &&
           !keeps_samples_apart(step, node, of_samples);
  });
}

}  // namespace glia::passes
