#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/ops/differentiate.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

namespace detail {

/// Checks that no gradient gets lost on its way through a graph: each kernel must have a
/// derivative, and only its first result has one.
class lost_gradients {
 public:
  lost_gradients(const graph& calls, value_id result)
      : calls_(&calls), makers_(calls.value_count(), nullptr) {
    std::vector<bool> used(calls.value_count(), false);
    used[result] = true;
    idle_ = idle_nodes(calls, std::move(used));
  }

  /// Sees the nodes in their order. `depends` tells whether an operand of node n has a gradient.
  /// Throws `value_error` if the result depends on the node, and the node loses the gradient.
  void see(std::size_t n, bool depends) {
    const graph_node& node = calls_->nodes()[n];
    if (!idle_[n]) {
      for (const value_id id : node.operands) {
        const graph_node* const maker = id == no_value ? nullptr : makers_[id];
        require<value_error>(maker == nullptr, "differentiate: '", node.kernel.name(),
                             "' reads a result of '", maker == nullptr ? "" : maker->kernel.name(),
                             "' that has no derivative; there are no second derivatives of "
                             "normalization and of fused kernels, such as softmax_cross_entropy "
                             "and attention; record attention on a recorder without fused kernels");
      }
      require<value_error>(!depends || keeps_gradient(node), "differentiate: the kernel '",
                           node.kernel.name(),
                           "' has no derivative; there are no second derivatives of normalization, "
                           "max pooling and fused kernels, such as softmax_cross_entropy, "
                           "recurrence and attention; record recurrent layers and attention on a "
                           "recorder without fused kernels");
    }
    for (std::size_t i = 1; i < node.results.size(); ++i) {
      if (depends && is_real(node.results[i])) {
        makers_[node.results[i]] = &node;
      }
    }
  }

 private:
  [[nodiscard]] bool is_real(value_id id) const {
    return id != no_value && calls_->spec(id).type == element::real;
  }
  /// Returns whether the derivative of a kernel is known, or is 0 almost everywhere.
  [[nodiscard]] bool keeps_gradient(const graph_node& node) const {
    return node.kernel.type().derivative != nullptr || !is_real(node.results[0]) ||
           node.kernel.as<kernels::in_top_k>() != nullptr;
  }

  const graph* calls_;
  std::vector<bool> idle_;  // nodes on which the result does not depend
  // For each value that depends on a source but has no gradient: its node.
  std::vector<const graph_node*> makers_;
};

}  // namespace detail

GLIA_INLINE std::vector<value_id> differentiate(graph& calls, value_id result,
                                                std::span<const value_id> sources) {
  detail::require_value("differentiate", calls, result);
  for (const value_id id : sources) {
    detail::require_value("differentiate", calls, id);
  }
  const recorder extended(calls);
  graph& copy = *extended.recording();
  tape recording(extended);
  std::vector<gradient_slot> slots(calls.value_count());
  for (const value_id id : sources) {
    slots[id] = recording.leaf(extended.value(id)).slot();
  }
  const auto handles_of = [&](const std::vector<value_id>& ids) {
    std::vector<tensor> handles(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      handles[i] = ids[i] == no_value ? tensor{} : extended.value(ids[i]);
    }
    return handles;
  };
  detail::lost_gradients lost(calls, result);
  for (std::size_t n = 0; n < calls.nodes().size(); ++n) {
    const graph_node& node = calls.nodes()[n];
    std::vector<gradient_slot> operand_slots;
    for (const value_id id : node.operands) {
      operand_slots.push_back(id == no_value ? gradient_slot{} : slots[id]);
    }
    lost.see(n, std::any_of(operand_slots.begin(), operand_slots.end(),
                            [](gradient_slot slot) { return static_cast<bool>(slot); }));
    std::vector<tensor> operands = handles_of(node.operands);
    copy.set_place(node.place);
    const gradient_slot slot = recording.note(node.kernel.type(), node.kernel.value(), operands,
                                              operand_slots, handles_of(node.results));
    if (slot) {
      slots[node.results[0]] = slot;
    }
  }
  copy.set_place(calls.place());
  recording.backward({recording, extended.value(result), slots[result]});
  std::vector<value_id> gradients;
  for (const value_id id : sources) {
    const tensor& gradient = recording.gradient(slots[id]);
    gradients.push_back(gradient ? gradient.number() : no_value);
  }
  calls = std::move(copy);
  return gradients;
}

}  // namespace glia
