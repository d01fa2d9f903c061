#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "glia/graph/graph.hpp"

namespace glia {

/// The node that computes each value of a graph, and the nodes that use it. Passes use this class
/// to search for patterns. It is valid as long as the graph does not change.
class graph_uses {
 public:
  static constexpr std::size_t no_node = std::numeric_limits<std::size_t>::max();

  explicit graph_uses(const graph& g)
      : graph_(&g),
        makers_(g.value_count(), no_node),
        takers_(g.value_count()),
        leaves_(g.value_count(), false) {
    for (std::size_t n = 0; n < g.nodes().size(); ++n) {
      for (const value_id id : g.nodes()[n].operands) {
        if (id != no_value) {
          takers_[id].push_back(n);
        }
      }
      for (const value_id id : g.nodes()[n].results) {
        if (id != no_value) {
          makers_[id] = n;
        }
      }
    }
    for (const graph_output& output : g.outputs()) {
      leaves_[output.value] = true;
    }
    for (const graph_input& input : g.inputs()) {
      if (input.next != no_value) {
        leaves_[input.next] = true;
      }
    }
  }

  /// Returns the node that computes a value; `no_node` for inputs and constants.
  [[nodiscard]] std::size_t maker(value_id id) const { return makers_[id]; }
  /// Returns the nodes that use a value, in order. A node that uses the value for two operands
  /// appears twice.
  [[nodiscard]] const std::vector<std::size_t>& takers(value_id id) const { return takers_[id]; }
  /// Returns whether a value is an output of the graph.
  [[nodiscard]] bool leaves(value_id id) const { return leaves_[id]; }
  /// Returns whether a value has exactly one use and is not an output.
  [[nodiscard]] bool taken_once(value_id id) const {
    return takers_[id].size() == 1 && !leaves_[id];
  }
  /// Returns the kernel that computes a value if its type is K, else null.
  template <kernel K>
  [[nodiscard]] const K* made_by(value_id id) const {
    return id == no_value || makers_[id] == no_node ? nullptr
                                                    : graph_->nodes()[makers_[id]].kernel.as<K>();
  }

 private:
  const graph* graph_;
  std::vector<std::size_t> makers_;
  std::vector<std::vector<std::size_t>> takers_;
  std::vector<bool> leaves_;
};

namespace detail {

/// Returns, for each value, whether it is the same in every run with the same parameters. A value
/// is not fixed if it depends on an input whose index is in `varying`, or on a value for which the
/// argument `fixed` is false.
[[nodiscard]] inline std::vector<bool> fixed_values(const graph& g,
                                                    const std::vector<std::size_t>& varying,
                                                    std::vector<bool> fixed = {}) {
  fixed.resize(g.value_count(), true);
  for (const std::size_t input : varying) {
    fixed[g.inputs()[input].value] = false;
  }
  for (const graph_node& node : g.nodes()) {
    const bool all_fixed = std::all_of(node.operands.begin(), node.operands.end(),
                                       [&](value_id id) { return id == no_value || fixed[id]; });
    for (const value_id id : node.results) {
      if (id != no_value) {
        fixed[id] = fixed[id] && all_fixed;
      }
    }
  }
  return fixed;
}

/// Removes the marked nodes.
inline void remove_nodes(graph& g, const std::vector<bool>& marked) {
  std::vector<graph_node> remaining;
  for (std::size_t n = 0; n < marked.size(); ++n) {
    if (!marked[n]) {
      remaining.push_back(std::move(g.nodes()[n]));
    }
  }
  g.nodes() = std::move(remaining);
}

/// Returns, for each node, whether none of the used values depends on it. `used` tells for each
/// value whether it is used outside of the graph.
[[nodiscard]] inline std::vector<bool> idle_nodes(const graph& g, std::vector<bool> used) {
  std::vector<bool> idle(g.nodes().size(), false);
  for (std::size_t n = g.nodes().size(); n-- > 0;) {
    const graph_node& node = g.nodes()[n];
    idle[n] = std::none_of(node.results.begin(), node.results.end(),
                           [&](value_id id) { return id != no_value && used[id]; });
    for (const value_id id : node.operands) {
      if (!idle[n] && id != no_value) {
        used[id] = true;
      }
    }
  }
  return idle;
}

}  // namespace detail

/// Removes nodes whose results are not used.
inline void prune(graph& g) {
  std::vector<bool> used(g.value_count(), false);
  for (const graph_output& output : g.outputs()) {
    used[output.value] = true;
  }
  for (const graph_input& input : g.inputs()) {
    if (input.next != no_value) {
      used[input.next] = true;
    }
  }
  detail::remove_nodes(g, detail::idle_nodes(g, std::move(used)));
}

}  // namespace glia
