#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/uses.hpp"

namespace glia::passes {

/// A graph in two: what is the same in every run with the same parameters, which has no other
/// inputs, and the rest, whose last inputs are what the first gives.
struct hoisted {
  graph once;
  graph each;
};

/// Takes out of a graph what does not depend on the `varying` inputs, by their numbers.
[[nodiscard]] inline hoisted hoist(graph g, const std::vector<std::size_t>& varying) {
  const std::vector<bool> fixed = fixed_values(g, varying);
  hoisted result{g, std::move(g)};
  result.once.outputs().clear();
  result.once.nodes().clear();
  std::erase_if(result.once.inputs(), [&](const graph_input& i) { return !fixed[i.value]; });
  std::vector<graph_node> kept;
  std::vector<bool> made(fixed.size(), false);
  const auto need = [&](value_id id) {
    if (id != no_value && made[id]) {
      made[id] = false;
      const std::string name = text("hoisted.", result.once.outputs().size());
      result.once.add_output(name, id);
      result.each.inputs().push_back({name, id});
    }
  };
  for (graph_node& node : result.each.nodes()) {
    bool all = true;
    for (const value_id id : node.operands) {
      all = all && (id == no_value || fixed[id]);
    }
    if (all) {
      for (const value_id id : node.results) {
        if (id != no_value) {
          made[id] = true;
        }
      }
      result.once.nodes().push_back(std::move(node));
    } else {
      kept.push_back(std::move(node));
    }
  }
  for (const graph_node& node : kept) {
    for (const value_id id : node.operands) {
      need(id);
    }
  }
  for (const graph_output& output : result.each.outputs()) {
    need(output.value);
  }
  result.each.nodes() = std::move(kept);
  return result;
}

}  // namespace glia::passes
