#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"

namespace glia::passes {

GLIA_INLINE hoisted hoist(graph g, const std::vector<std::size_t>& varying,
                          std::vector<bool> can_be_fixed) {
  const std::vector<bool> fixed = glia::detail::fixed_values(g, varying, std::move(can_be_fixed));
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
    const bool all = std::all_of(node.results.begin(), node.results.end(),
                                 [&](value_id id) { return id == no_value || fixed[id]; });
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
