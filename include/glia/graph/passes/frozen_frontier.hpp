#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"

namespace glia::passes {

GLIA_INLINE std::optional<value_id> frozen_frontier(const graph& g, std::size_t samples,
                                                    const std::vector<std::size_t>& varying) {
  const std::vector<bool> fixed = glia::detail::fixed_values(g, varying);
  std::vector<bool> of_samples = glia::detail::fixed_values(g, {samples});
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
    const auto found = std::find_if(node.results.begin(), node.results.end(),
                                    [](value_id id) { return id != no_value; });
    if (found == node.results.end()) {
      continue;
    }
    const value_id result = *found;
    if (!fixed[result]) {
      std::for_each(node.operands.begin(), node.operands.end(), leaves_at);
    } else if (of_samples[result] && !keeps_samples_apart(g, node, of_samples)) {
      return std::nullopt;
    }
  }
  for (const graph_output& output : g.outputs()) {
    leaves_at(output.value);
  }
  return single && frontier != g.inputs()[samples].value ? frontier : std::nullopt;
}

GLIA_INLINE bool begin_at(graph& g, std::size_t number, value_id value) {
  std::vector<bool> gone(g.value_count(), false);
  gone[g.inputs()[number].value] = true;
  std::vector<bool> is_maker(g.nodes().size(), false);
  for (std::size_t n = 0; n < is_maker.size(); ++n) {
    const auto& results = g.nodes()[n].results;
    is_maker[n] = std::find(results.begin(), results.end(), value) != results.end();
    for (const value_id id : results) {
      if (is_maker[n] && id != no_value) {
        gone[id] = id != value;
      }
    }
  }
  g.inputs()[number].value = value;
  glia::detail::remove_nodes(g, is_maker);
  prune(g);
  const auto is_gone = [&](value_id id) { return id != no_value && gone[id]; };
  return std::none_of(g.nodes().begin(), g.nodes().end(),
                      [&](const graph_node& node) {
                        return std::any_of(node.operands.begin(), node.operands.end(), is_gone);
                      }) &&
         std::none_of(g.outputs().begin(), g.outputs().end(),
                      [&](const graph_output& output) { return is_gone(output.value); });
}

GLIA_INLINE counterpart::counterpart(const graph& source, const graph& target)
    : counterparts_(source.value_count(), unknown) {
  std::map<std::string_view, value_id> inputs;
  for (const graph_input& input : target.inputs()) {
    inputs.emplace(input.name, input.value);
  }
  for (const graph_input& input : source.inputs()) {
    const auto found = inputs.find(input.name);
    counterparts_[input.value] = found == inputs.end() ? unknown : found->second;
  }
  // Equal computations create their constants in the same order.
  for (std::size_t i = 0; i < std::min(source.constants().size(), target.constants().size()); ++i) {
    const graph_constant& a = source.constants()[i];
    const graph_constant& b = target.constants()[i];
    if (a.elements == b.elements && source.spec(a.value).shape == target.spec(b.value).shape) {
      counterparts_[a.value] = b.value;
    }
  }
  // Nodes with the same operands are matched in order. The other graph may have additional nodes in
  // between.
  std::multimap<std::vector<value_id>, const graph_node*> nodes;
  for (const graph_node& node : target.nodes()) {
    nodes.emplace(node.operands, &node);
  }
  for (const graph_node& node : source.nodes()) {
    std::vector<value_id> operands = node.operands;
    for (value_id& id : operands) {
      id = id == no_value ? no_value : counterparts_[id];
    }
    const auto [begin, end] = nodes.equal_range(operands);
    const auto alike = std::find_if(begin, end, [&](const auto& other) {
      return other.second->kernel == node.kernel &&
             other.second->results.size() == node.results.size();
    });
    if (alike == end) {
      continue;
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] != no_value) {
        counterparts_[node.results[i]] = alike->second->results[i];
      }
    }
    nodes.erase(alike);
  }
}

}  // namespace glia::passes
