#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/graph/uses.hpp"

namespace glia::passes {

namespace detail {

/// Whether a node gives rows for rows: nothing of one sample goes into another one's result.
[[nodiscard]] inline bool treats_samples_alone(const graph& g, const graph_node& node,
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

}  // namespace detail

/// The last tensor that is always the same for a sample, however a model is trained, and through
/// which alone the rest of the graph sees the samples: what frozen layers give. `samples` is their
/// input, `varying` are the inputs that change from step to step. None where there is no such
/// tensor, or it is the samples themselves.
[[nodiscard]] inline std::optional<value_id> frozen_frontier(
    const graph& g, std::size_t samples, const std::vector<std::size_t>& varying) {
  const std::vector<bool> fixed = fixed_values(g, varying);
  std::vector<bool> of_samples = fixed_values(g, {samples});
  of_samples.flip();
  std::optional<value_id> frontier;
  bool single = true;
  const auto leaves_at = [&](value_id id) {
    if (id != no_value && fixed[id] && of_samples[id]) {
      single = single && (!frontier || *frontier == id);
      frontier = id;
    }
  };
  for (const graph_node& node : g.nodes()) {
    const value_id result = *std::find_if(node.results.begin(), node.results.end(),
                                          [](value_id id) { return id != no_value; });
    if (!fixed[result]) {
      std::for_each(node.operands.begin(), node.operands.end(), leaves_at);
    } else if (of_samples[result] && !detail::treats_samples_alone(g, node, of_samples)) {
      return std::nullopt;
    }
  }
  for (const graph_output& output : g.outputs()) {
    leaves_at(output.value);
  }
  return single && frontier != g.inputs()[samples].value ? frontier : std::nullopt;
}

/// Lets a graph begin at one of its tensors, which takes the place of input `number`. False where
/// other nodes take that input, too; the graph is no good then.
[[nodiscard]] inline bool begin_at(graph& g, std::size_t number, value_id value) {
  const value_id before = g.inputs()[number].value;
  g.inputs()[number].value = value;
  std::vector<bool> made(g.nodes().size(), false);
  for (std::size_t n = 0; n < made.size(); ++n) {
    const auto& results = g.nodes()[n].results;
    made[n] = std::find(results.begin(), results.end(), value) != results.end();
  }
  remove_nodes(g, made);
  prune(g);
  return std::none_of(g.nodes().begin(), g.nodes().end(), [&](const graph_node& node) {
    return std::find(node.operands.begin(), node.operands.end(), before) != node.operands.end();
  });
}

/// Finds a tensor of one graph in another, by how it comes from inputs of the same names.
class counterpart {
 public:
  counterpart(const graph& from, const graph& in) : from_(&from), in_(&in) {
    for (const graph_input& a : from.inputs()) {
      for (const graph_input& b : in.inputs()) {
        if (a.name == b.name) {
          known_.push_back({a.value, b.value});
        }
      }
    }
    for (const graph_constant& a : from.constants()) {
      for (const graph_constant& b : in.constants()) {
        if (a.elements == b.elements && from.spec(a.value).shape == in.spec(b.value).shape) {
          known_.push_back({a.value, b.value});
        }
      }
    }
    // In the order of the first graph: what a node takes has been found before it.
    for (const graph_node& a : from.nodes()) {
      for (const graph_node& b : in.nodes()) {
        if (alike(a, b)) {
          for (std::size_t i = 0; i < a.results.size(); ++i) {
            known_.push_back({a.results[i], b.results[i]});
          }
        }
      }
    }
  }

  [[nodiscard]] std::optional<value_id> of(value_id value) const {
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const pair& known) { return known.from == value; });
    return found == known_.end() ? std::nullopt : std::optional(found->in);
  }

 private:
  struct pair {
    value_id from;
    value_id in;
  };

  [[nodiscard]] bool alike(const graph_node& a, const graph_node& b) const {
    return a.kernel == b.kernel && a.results.size() == b.results.size() &&
           std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                      [&](value_id x, value_id y) {
                        return (x == no_value && y == no_value) ||
                               std::any_of(known_.begin(), known_.end(), [&](const pair& known) {
                                 return known.from == x && known.in == y;
                               });
                      });
  }

  const graph* from_;
  const graph* in_;
  std::vector<pair> known_;
};

}  // namespace glia::passes
