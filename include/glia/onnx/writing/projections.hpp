#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/quantization.hpp"
#include "glia/kernels/recurrence.hpp"

namespace glia::onnx::detail {

/// The computation of the first operand of a recurrence: reshape(conv2d(reshape(steps), w, bias)).
/// For a quantized product, fake_quantize is between the inner reshape and the convolution.
struct projected {
  std::size_t first;   ///< Index of the node that reshapes the steps.
  std::size_t second;  ///< Index of the product.
  std::size_t third;
  std::optional<std::size_t> quantizer;
};
[[nodiscard]] inline std::optional<projected> projected_in(const graph& g, const graph_uses& uses,
                                                           value_id x) {
  if (uses.made_by<kernels::reshape>(x) == nullptr) {
    return std::nullopt;
  }
  const std::size_t third = uses.maker(x);
  const value_id product = g.nodes()[third].operands[0];
  const auto* const convolution = uses.made_by<kernels::conv2d>(product);
  if (convolution == nullptr || *convolution != kernels::conv2d{}) {
    return std::nullopt;
  }
  const std::size_t second = uses.maker(product);
  value_id steps = g.nodes()[second].operands[0];
  std::optional<std::size_t> quantizer;
  if (uses.made_by<kernels::fake_quantize>(steps) != nullptr) {
    quantizer = uses.maker(steps);
    steps = g.nodes()[*quantizer].operands[0];
  }
  if (uses.made_by<kernels::reshape>(steps) == nullptr) {
    return std::nullopt;
  }
  const std::size_t first = uses.maker(steps);
  const shape steps_shape = g.spec(g.nodes()[first].operands[0]).shape;
  const shape projected_steps = g.spec(x).shape;
  const bool same_steps = steps_shape.rank() == 3 && steps_shape[0] == projected_steps[0] &&
                          steps_shape[1] == projected_steps[1];
  return same_steps ? std::optional(projected{first, second, third, quantizer}) : std::nullopt;
}

/// Returns whether two products have the same inputs, quantized in the same way.
[[nodiscard]] inline bool have_same_steps(const graph& g, const projected& a, const projected& b) {
  if (g.nodes()[a.first].operands[0] != g.nodes()[b.first].operands[0] ||
      a.quantizer.has_value() != b.quantizer.has_value()) {
    return false;
  }
  if (!a.quantizer) {
    return true;
  }
  const auto scales = [&](const projected& p) -> const graph_constant* {
    const value_id operand = g.nodes()[*p.quantizer].operands[1];
    for (const graph_constant& constant : g.constants()) {
      if (constant.value == operand) {
        return &constant;
      }
    }
    return nullptr;
  };
  const graph_constant* const scales_a = scales(a);
  const graph_constant* const scales_b = scales(b);
  return g.nodes()[*a.quantizer].kernel == g.nodes()[*b.quantizer].kernel && scales_a != nullptr &&
         scales_b != nullptr && scales_a->elements == scales_b->elements;
}

/// The projections of all recurrences of a graph, by their nodes.
struct projections {
  std::map<std::size_t, projected> by_node;
  /// The nodes that join the results of a forward and a backward recurrence.
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> pairs;
  /// Other pairs of a forward and a backward recurrence over the same steps, by the first node.
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> directions;
  std::vector<bool> absorbed;  ///< Nodes that only these recurrences use.

  explicit projections(const graph& g) : absorbed(g.nodes().size(), false) {
    const graph_uses uses(g);
    const auto is_used_once = [&](std::size_t index) {
      return uses.taken_once(g.nodes()[index].results[0]);
    };
    for (std::size_t n = 0; n < g.nodes().size(); ++n) {
      const graph_node& node = g.nodes()[n];
      // Recurrences over masked steps are written step by step.
      if (node.kernel.as<kernels::recurrence>() == nullptr || node.operands[4] != no_value) {
        continue;
      }
      if (const auto found = projected_in(g, uses, node.operands[0])) {
        by_node[n] = *found;
        if (is_used_once(found->third) && is_used_once(found->second)) {
          absorbed[found->third] = absorbed[found->second] = true;
          absorbed[found->first] = is_used_once(found->first) && !found->quantizer;
        }
      }
    }
    for (std::size_t n = 0; n < g.nodes().size(); ++n) {
      if (const auto found = pair_in(g, uses, n)) {
        pairs[n] = *found;
        absorbed[found->first] = absorbed[found->second] = true;
      }
    }
    for (const auto& entry : by_node) {
      for (auto other = by_node.upper_bound(entry.first); other != by_node.end(); ++other) {
        if (const auto found = directions_in(g, entry.first, other->first)) {
          directions[entry.first] = *found;
          absorbed[other->first] = true;
          break;
        }
      }
    }
  }

 private:
  /// Returns the forward and the backward recurrence, if one operator can represent both.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> directions_in(
      const graph& g, std::size_t first, std::size_t second) const {
    const auto* const a = g.nodes()[first].kernel.as<kernels::recurrence>();
    const auto* const b = g.nodes()[second].kernel.as<kernels::recurrence>();
    const bool fit = !absorbed[first] && !absorbed[second] && !directions.contains(first) &&
                     a->cell == b->cell && a->backwards != b->backwards &&
                     g.spec(g.nodes()[first].results[0]) == g.spec(g.nodes()[second].results[0]) &&
                     !by_node.at(first).quantizer &&
                     have_same_steps(g, by_node.at(first), by_node.at(second));
    if (!fit) {
      return std::nullopt;
    }
    return a->backwards ? std::pair{second, first} : std::pair{first, second};
  }

  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> pair_in(const graph& g,
                                                                           const graph_uses& uses,
                                                                           std::size_t n) const {
    const graph_node& node = g.nodes()[n];
    const auto* const joins = node.kernel.as<kernels::concat>();
    const bool two = joins != nullptr && joins->axis == 2 && node.operands[1] != no_value &&
                     node.operands[2] == no_value;
    if (!two) {
      return std::nullopt;
    }
    const auto* const a = uses.made_by<kernels::recurrence>(node.operands[0]);
    const auto* const b = uses.made_by<kernels::recurrence>(node.operands[1]);
    if (a == nullptr || b == nullptr || a->cell != b->cell || a->backwards || !b->backwards ||
        g.spec(node.operands[0]) != g.spec(node.operands[1])) {
      return std::nullopt;
    }
    const std::pair both{uses.maker(node.operands[0]), uses.maker(node.operands[1])};
    const bool alone = uses.taken_once(node.operands[0]) && uses.taken_once(node.operands[1]);
    return alone && by_node.contains(both.first) && by_node.contains(both.second) &&
                   have_same_steps(g, by_node.at(both.first), by_node.at(both.second))
               ? std::optional(both)
               : std::nullopt;
  }
};

}  // namespace glia::onnx::detail
