#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/convolution_chain.hpp"

namespace glia::passes {

GLIA_INLINE void chain_convolutions(graph& g) {
  const graph_uses uses(g);
  std::vector<bool> gone(g.nodes().size(), false);
  const auto sizes_of = [&](const graph_node& node) {
    const auto& conv = *node.kernel.as<kernels::conv2d>();
    return kernels::conv2d_rule(g.spec(node.operands[0]).shape, g.spec(node.operands[1]).shape,
                                conv.window, conv.groups);
  };
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    if (gone[n] || g.nodes()[n].kernel.as<kernels::conv2d>() == nullptr) {
      continue;
    }
    std::vector<std::size_t> links;
    for (std::size_t next = n; links.size() < kernels::max_chain;) {
      const graph_node& node = g.nodes()[next];
      const auto* conv = node.kernel.as<kernels::conv2d>();
      if (conv == nullptr) {
        break;
      }
      const kernels::window_sizes s = sizes_of(node);
      const bool begins = links.empty();
      if (!chains(conv->map, s, begins) || (!begins && s.groups == 1 && s.o > s.c)) {
        break;
      }
      links.push_back(next);
      if (!uses.taken_once(node.results[0])) {
        break;
      }
      next = uses.takers(node.results[0])[0];
      if (g.nodes()[next].operands[0] != node.results[0]) {
        break;
      }
    }
    if (links.size() < 2) {
      continue;
    }
    kernels::conv2d_chain chain{links.size()};
    std::vector<value_id> operands(kernels::conv2d_chain::operands, no_value);
    operands[0] = g.nodes()[n].operands[0];
    for (std::size_t i = 0; i < links.size(); ++i) {
      const graph_node& node = g.nodes()[links[i]];
      chain.links[i] = *node.kernel.as<kernels::conv2d>();
      operands[1 + 2 * i] = node.operands[1];
      operands[2 + 2 * i] = node.operands[2];
      gone[links[i]] = i + 1 < links.size();
    }
    graph_node& last = g.nodes()[links.back()];
    last.kernel = last.kernel.made_into(chain);
    last.operands = std::move(operands);
  }
  glia::detail::remove_nodes(g, gone);
}

}  // namespace glia::passes
