#pragma once

#include <cstddef>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/products.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::passes {

GLIA_INLINE void fuse_activation(graph& g) {
  const graph_uses uses(g);
  std::vector<bool> gone(g.nodes().size(), false);
  for (graph_node& node : g.nodes()) {
    const auto* dense = node.kernel.as<kernels::dense>();
    const auto* conv = node.kernel.as<kernels::conv2d>();
    if ((dense == nullptr || dense->map != kernels::identity_map) &&
        (conv == nullptr || conv->map != kernels::identity_map)) {
      continue;
    }
    if (!uses.taken_once(node.results[0])) {
      continue;
    }
    const std::size_t taker = uses.takers(node.results[0])[0];
    const auto* map = g.nodes()[taker].kernel.as<kernels::unary>();
    const bool quantized = uses.made_by<kernels::fake_quantize>(node.operands[0]) != nullptr;
    if (map == nullptr || (quantized && !kernels::clamps(map->map))) {
      continue;
    }
    if (dense != nullptr) {
      node.kernel = node.kernel.made_into(kernels::dense{map->map});
    } else {
      node.kernel = node.kernel.made_into(kernels::conv2d{conv->window, conv->groups, map->map});
    }
    node.results = g.nodes()[taker].results;
    gone[taker] = true;
  }
  glia::detail::remove_nodes(g, gone);
}

}  // namespace glia::passes
