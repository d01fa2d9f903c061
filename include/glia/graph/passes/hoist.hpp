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
  result.fixed.outputs().clear();
  result.fixed.nodes().clear();
  std::erase_if(result.fixed.inputs(), [&](const graph_input& i) { return !fixed[i.value]; });
  std::vector<graph_node> remaining;
  std::vector<bool> available(fixed.size(), false);
  const auto need = [&](value_id id) {
    if (id != no_value && available[id]) {
      available[id] = false;
      const std::string name = text("hoisted.", result.fixed.outputs().size());
      result.fixed.add_output(name, id);
      result.varying.inputs().push_back({name, id});
    }
  };
  for (graph_node& node : result.varying.nodes()) {
    const bool is_fixed = std::all_of(node.results.begin(), node.results.end(),
                                      [&](value_id id) { return id == no_value || fixed[id]; });
    if (is_fixed) {
      for (const value_id id : node.results) {
        if (id != no_value) {
          available[id] = true;
        }
      }
      result.fixed.nodes().push_back(std::move(node));
    } else {
      remaining.push_back(std::move(node));
    }
  }
  for (const graph_node& node : remaining) {
    for (const value_id id : node.operands) {
      need(id);
    }
  }
  for (const graph_output& output : result.varying.outputs()) {
    need(output.value);
  }
  result.varying.nodes() = std::move(remaining);
  return result;
}

}  // namespace glia::passes
