#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "glia/graph/graph.hpp"

namespace glia {

/// Who gives and who takes each tensor of a graph; what passes look patterns up in. Good as long as
/// the graph is not changed.
class graph_uses {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  explicit graph_uses(const graph& g)
      : graph_(&g),
        makers_(g.value_count(), none),
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

  /// The node that gives a value; `none` for inputs and constants.
  [[nodiscard]] std::size_t maker(value_id id) const { return makers_[id]; }
  /// The nodes that take it, in order, one as often as it does.
  [[nodiscard]] const std::vector<std::size_t>& takers(value_id id) const { return takers_[id]; }
  /// Whether it is a result of the graph.
  [[nodiscard]] bool leaves(value_id id) const { return leaves_[id]; }
  /// Whether a single node takes it, and nobody else gets it.
  [[nodiscard]] bool taken_once(value_id id) const {
    return takers_[id].size() == 1 && !leaves_[id];
  }
  /// The kernel that gives a value if it is of this type, else null.
  template <kernel K>
  [[nodiscard]] const K* made_by(value_id id) const {
    return id == no_value || makers_[id] == none ? nullptr
                                                 : graph_->nodes()[makers_[id]].kernel.as<K>();
  }

 private:
  const graph* graph_;
  std::vector<std::size_t> makers_;
  std::vector<std::vector<std::size_t>> takers_;
  std::vector<bool> leaves_;
};

/// Whether each value is the same in every run with the same parameters: it depends on none of the
/// inputs whose number is in `varying`, and of what is not `fixed` to begin with.
[[nodiscard]] inline std::vector<bool> fixed_values(const graph& g,
                                                    const std::vector<std::size_t>& varying,
                                                    std::vector<bool> fixed = {}) {
  fixed.resize(g.value_count(), true);
  for (const std::size_t input : varying) {
    fixed[g.inputs()[input].value] = false;
  }
  for (const graph_node& node : g.nodes()) {
    const bool all = std::all_of(node.operands.begin(), node.operands.end(),
                                 [&](value_id id) { return id == no_value || fixed[id]; });
    for (const value_id id : node.results) {
      if (id != no_value) {
        fixed[id] = fixed[id] && all;
      }
    }
  }
  return fixed;
}

/// Takes out the nodes that are marked.
inline void remove_nodes(graph& g, const std::vector<bool>& marked) {
  std::vector<graph_node> kept;
  for (std::size_t n = 0; n < marked.size(); ++n) {
    if (!marked[n]) {
      kept.push_back(std::move(g.nodes()[n]));
    }
  }
  g.nodes() = std::move(kept);
}

/// Takes out the nodes whose results nobody wants.
inline void prune(graph& g) {
  std::vector<bool> wanted(g.value_count(), false);
  for (const graph_output& output : g.outputs()) {
    wanted[output.value] = true;
  }
  for (const graph_input& input : g.inputs()) {
    if (input.next != no_value) {
      wanted[input.next] = true;
    }
  }
  std::vector<bool> idle(g.nodes().size(), false);
  for (std::size_t n = g.nodes().size(); n-- > 0;) {
    const graph_node& node = g.nodes()[n];
    idle[n] = std::none_of(node.results.begin(), node.results.end(),
                           [&](value_id id) { return id != no_value && wanted[id]; });
    for (const value_id id : node.operands) {
      if (!idle[n] && id != no_value) {
        wanted[id] = true;
      }
    }
  }
  remove_nodes(g, idle);
}

}  // namespace glia
