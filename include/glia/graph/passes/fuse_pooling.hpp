#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/pooled_convolution.hpp"

namespace glia::passes {

namespace detail {

/// The nodes of a convolution with its max-pooling, forward and backward.
struct pooled_convolution_nodes {
  static constexpr std::size_t no_node = graph_uses::no_node;

  std::size_t convolution = no_node;
  std::size_t spread = no_node;        // max_pool2d_gradient; the nodes below need it
  std::size_t map_gradient = no_node;  // unary_gradient, if there is a map
  std::size_t kernel_gradient = no_node;
  std::size_t input_gradient = no_node;  // if it is needed
  std::size_t bias_gradient = no_node;   // if there is a trained bias
};

/// Finds the nodes that belong to the pooling at node `index`. Returns nothing if one is missing or
/// an intermediate result has another use.
[[nodiscard]] inline std::optional<pooled_convolution_nodes> pooled_convolution_at(
    const graph& g, const graph_uses& uses, std::size_t index) {
  constexpr std::size_t no_node = graph_uses::no_node;
  const auto* pool = g.nodes()[index].kernel.as<kernels::max_pool2d>();
  if (pool == nullptr) {
    return std::nullopt;
  }
  const value_id convolved = g.nodes()[index].operands[0];
  const value_id position = g.nodes()[index].results[1];
  const auto* conv = uses.made_by<kernels::conv2d>(convolved);
  if (conv == nullptr || !kernels::pools_fuse(conv->map, pool->window) || uses.leaves(convolved) ||
      uses.leaves(position)) {
    return std::nullopt;
  }
  pooled_convolution_nodes found;
  found.convolution = uses.maker(convolved);
  if (uses.takers(position).empty()) {
    return uses.taken_once(convolved) ? std::optional(found) : std::nullopt;
  }
  if (uses.takers(position).size() != 1) {
    return std::nullopt;
  }
  found.spread = uses.takers(position)[0];
  if (g.nodes()[found.spread].kernel.as<kernels::max_pool2d_gradient>() == nullptr) {
    return std::nullopt;
  }
  value_id gradient = g.nodes()[found.spread].results[0];
  const bool has_map = conv->map != kernels::identity_map;
  if (uses.takers(convolved).size() != (has_map ? 2 : 1)) {
    return std::nullopt;
  }
  if (has_map) {
    if (!uses.taken_once(gradient)) {
      return std::nullopt;
    }
    found.map_gradient = uses.takers(gradient)[0];
    const graph_node& node = g.nodes()[found.map_gradient];
    const auto* unary = node.kernel.as<kernels::unary_gradient>();
    if (unary == nullptr || unary->map != conv->map || node.operands[1] != convolved) {
      return std::nullopt;
    }
    gradient = node.results[0];
  }
  if (uses.leaves(gradient)) {
    return std::nullopt;
  }
  const graph_node& forward = g.nodes()[found.convolution];
  for (const std::size_t taker : uses.takers(gradient)) {
    const graph_node& node = g.nodes()[taker];
    const auto* of_kernel = node.kernel.as<kernels::conv2d_kernel_gradient>();
    const auto* of_input = node.kernel.as<kernels::conv2d_input_gradient>();
    const auto* of_bias = node.kernel.as<kernels::sum_to>();
    if (of_kernel != nullptr && found.kernel_gradient == no_node &&
        node.operands[0] == forward.operands[0] && of_kernel->window == conv->window) {
      found.kernel_gradient = taker;
    } else if (of_input != nullptr && found.input_gradient == no_node &&
               node.operands[1] == forward.operands[1] && of_input->window == conv->window) {
      found.input_gradient = taker;
    } else if (of_bias != nullptr && found.bias_gradient == no_node &&
               of_bias->target_shape == shape{g.spec(convolved).shape.back()}) {
      found.bias_gradient = taker;
    } else {
      return std::nullopt;
    }
  }
  return found.kernel_gradient == no_node ? std::nullopt : std::optional(found);
}

}  // namespace detail

GLIA_INLINE void fuse_pooling(graph& g) {
  constexpr std::size_t no_node = graph_uses::no_node;
  const graph_uses uses(g);
  std::vector<bool> gone(g.nodes().size(), false);
  const auto result_of = [&](std::size_t node) {
    return node == no_node ? no_value : g.nodes()[node].results[0];
  };
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    const auto found = detail::pooled_convolution_at(g, uses, n);
    if (!found) {
      continue;
    }
    const graph_node forward = g.nodes()[found->convolution];
    const auto& conv = *forward.kernel.as<kernels::conv2d>();
    const kernels::convolution_pooling geometry{
        conv.window, conv.groups, g.nodes()[n].kernel.as<kernels::max_pool2d>()->window};
    const bool trained = found->spread != no_node;
    const value_id pooled = g.nodes()[n].results[0];
    const value_id winners =
        trained ? g.add_value({g.spec(pooled).shape, element::byte}) : no_value;
    g.nodes()[n] = {
        forward.kernel.made_into(kernels::conv2d_max_pool2d{geometry, conv.map, trained}),
        forward.operands,
        {pooled, winners},
        forward.place};
    gone[found->convolution] = true;
    if (!trained) {
      continue;
    }
    const value_id dy = g.nodes()[found->spread].operands[0];
    const std::size_t of_kernel =
        found->kernel_gradient == no_node ? found->spread : found->kernel_gradient;
    const std::uint32_t place = g.nodes()[of_kernel].place;
    const value_id dx = result_of(found->input_gradient);
    value_id dbias = result_of(found->bias_gradient);
    if (dbias == no_value) {
      dbias = g.add_value(real_of({g.spec(forward.operands[1]).shape.back()}));
    }
    const any_kernel gradient = g.nodes()[found->kernel_gradient].kernel;
    g.nodes()[found->spread] = {
        gradient.made_into(kernels::conv2d_max_pool2d_gradient{geometry, dx != no_value}),
        {dy, forward.operands[0], forward.operands[1], winners},
        {dx, result_of(found->kernel_gradient), dbias},
        place};
    for (const std::size_t node : {found->map_gradient, found->kernel_gradient,
                                   found->input_gradient, found->bias_gradient}) {
      if (node != no_node) {
        gone[node] = true;
      }
    }
  }
  glia::detail::remove_nodes(g, gone);
}

}  // namespace glia::passes
