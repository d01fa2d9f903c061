#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/products.hpp"

namespace glia::passes {

namespace detail {

/// A product or convolution whose results are multiplied by `scale` and then shifted by `shift`.
struct scaled_product {
  std::size_t product;
  std::size_t scaled;
  std::size_t shifted;
  value_id scale;
  value_id shift;
};

/// Returns the other operand of the node with this index if it applies `function` to `outputs` and
/// one fixed number for each output.
[[nodiscard]] inline value_id number_for_each(const graph& g, const std::vector<bool>& fixed,
                                              std::size_t index, binary_function function,
                                              value_id outputs) {
  const graph_node& node = g.nodes()[index];
  const auto* kernel = node.kernel.as<kernels::binary>();
  if (kernel == nullptr || kernel->function != function) {
    return no_value;
  }
  const value_id other = node.operands[0] == outputs ? node.operands[1] : node.operands[0];
  const bool is_per_output = other != outputs && fixed[other] &&
                             g.spec(other).shape == shape{g.spec(outputs).shape.back()};
  return is_per_output ? other : no_value;
}

[[nodiscard]] inline std::optional<scaled_product> scaled_product_at(const graph& g,
                                                                     const graph_uses& uses,
                                                                     const std::vector<bool>& fixed,
                                                                     std::size_t index) {
  const graph_node& node = g.nodes()[index];
  const auto* dense = node.kernel.as<kernels::dense>();
  const auto* conv = node.kernel.as<kernels::conv2d>();
  const bool linear = (dense != nullptr && dense->map == kernels::identity_map) ||
                      (conv != nullptr && conv->map == kernels::identity_map);
  if (!linear || !fixed[node.operands[1]] || !uses.taken_once(node.results[0])) {
    return std::nullopt;
  }
  scaled_product found{index, uses.takers(node.results[0])[0], 0, 0, 0};
  found.scale = number_for_each(g, fixed, found.scaled, binary_function::multiply, node.results[0]);
  const value_id scaled_value = g.nodes()[found.scaled].results[0];
  if (found.scale == no_value || !uses.taken_once(scaled_value)) {
    return std::nullopt;
  }
  found.shifted = uses.takers(scaled_value)[0];
  found.shift = number_for_each(g, fixed, found.shifted, binary_function::add, scaled_value);
  return found.shift == no_value ? std::nullopt : std::optional(found);
}

}  // namespace detail

GLIA_INLINE void fold_scaling(graph& g, const std::vector<bool>& fixed) {
  const graph_uses uses(g);
  std::vector<std::optional<detail::scaled_product>> ends(g.nodes().size());
  std::vector<bool> gone(g.nodes().size(), false);
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    if (const auto found = detail::scaled_product_at(g, uses, fixed, n)) {
      ends[found->shifted] = found;
      gone[n] = gone[found->scaled] = true;
    }
  }
  std::vector<graph_node> nodes;
  for (std::size_t n = 0; n < g.nodes().size(); ++n) {
    if (gone[n]) {
      continue;
    }
    if (!ends[n]) {
      nodes.push_back(std::move(g.nodes()[n]));
      continue;
    }
    // The product is inserted here, because scale and shift have been computed here.
    graph_node product = g.nodes()[ends[n]->product];
    const any_kernel shift = g.nodes()[n].kernel;
    const auto binary = [&](binary_function function, value_id a, value_id b) {
      const kernels::binary kernel{function};
      const value_id y = g.add_value(kernel.result(g.spec(a), g.spec(b)));
      nodes.push_back({shift.made_into(kernel), {a, b}, {y}, product.place});
      return y;
    };
    const value_id scale = ends[n]->scale;
    value_id& bias = product.operands[2];
    product.operands[1] = binary(binary_function::multiply, product.operands[1], scale);
    bias = bias == no_value
               ? ends[n]->shift
               : binary(binary_function::add, binary(binary_function::multiply, bias, scale),
                        ends[n]->shift);
    product.results = g.nodes()[n].results;
    nodes.push_back(std::move(product));
  }
  g.nodes() = std::move(nodes);
}

}  // namespace glia::passes
