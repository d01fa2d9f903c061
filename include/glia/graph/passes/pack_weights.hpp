#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/kernels/convolution_chain.hpp"

namespace glia::passes {

/// Packs the weights of chains for their loops where they are `fixed`, so that `hoist` can take the
/// packing out of what runs for each batch.
inline void pack_weights(graph& g, const std::vector<bool>& fixed) {
  std::vector<graph_node> nodes;
  for (graph_node& node : g.nodes()) {
    const auto* chain = node.kernel.as<kernels::conv2d_chain>();
    bool all = chain != nullptr && !chain->is_packed();
    for (std::size_t i = 1; all && i < node.operands.size(); ++i) {
      all = node.operands[i] == no_value || fixed[node.operands[i]];
    }
    if (all) {
      kernels::conv2d_chain packed = *chain;
      for (std::size_t i = 0; i < packed.count; ++i) {
        value_id& w = node.operands[1 + 2 * i];
        value_id& bias = node.operands[2 + 2 * i];
        packed.packed[i] = g.spec(w).shape;
        const value_id made = g.add_value(kernels::pack_link::result(g.spec(w), g.spec(bias)));
        nodes.push_back({kernels::pack_link{}, {w, bias}, {made}, node.place});
        w = made;
        bias = no_value;
      }
      node.kernel = packed;
    }
    nodes.push_back(std::move(node));
  }
  g.nodes() = std::move(nodes);
}

}  // namespace glia::passes
