#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/pooling.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::passes {

namespace detail {

/// Returns whether two values certainly contain the same numbers.
[[nodiscard]] inline bool same_numbers(const graph& g, value_id a, value_id b) {
  const auto elements_of = [&](value_id id) -> const std::vector<double>* {
    for (const graph_constant& constant : g.constants()) {
      if (constant.value == id) {
        return std::get_if<std::vector<double>>(&constant.elements);
      }
    }
    return nullptr;
  };
  const std::vector<double>* const first = elements_of(a);
  const std::vector<double>* const second = elements_of(b);
  return a == b || (first != nullptr && second != nullptr && *first == *second);
}

/// Returns whether a kernel only selects or arranges numbers. Rounding before the kernel then gives
/// the same result as rounding after it.
[[nodiscard]] inline bool picks_numbers(const any_kernel& k) {
  return k.as<kernels::reshape>() != nullptr || k.as<kernels::permute_axes>() != nullptr ||
         k.as<kernels::max_pool2d>() != nullptr;
}

}  // namespace detail

GLIA_INLINE void merge_quantizers(graph& g) {
  const graph_uses uses(g);
  for (graph_node& last : g.nodes()) {
    const auto* const k = last.kernel.as<kernels::fake_quantize>();
    if (k == nullptr) {
      continue;
    }
    value_id source = last.operands[0];
    std::size_t behind = graph_uses::no_node;  // the node that uses `source`; no_node: it is `last`
    while (uses.taken_once(source) && uses.maker(source) != graph_uses::no_node) {
      const std::size_t n = uses.maker(source);
      const graph_node& node = g.nodes()[n];
      const auto* const first = node.kernel.as<kernels::fake_quantize>();
      if (first != nullptr && *first == *k && g.spec(node.operands[1]).shape == shape{1} &&
          detail::same_numbers(g, node.operands[1], last.operands[1])) {
        (behind == graph_uses::no_node ? last : g.nodes()[behind]).operands[0] = node.operands[0];
        break;
      }
      if (!detail::picks_numbers(node.kernel)) {
        break;
      }
      behind = n;
      source = node.operands[0];
    }
  }
}

}  // namespace glia::passes
