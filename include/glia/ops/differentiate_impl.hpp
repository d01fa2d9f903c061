#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/core/inline.hpp"
#include "glia/ops/differentiate.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

GLIA_INLINE std::vector<value_id> differentiate(graph& calls, value_id result,
                                                std::span<const value_id> sources) {
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
  for (const graph_node& node : calls.nodes()) {
    std::vector<gradient_slot> operand_slots;
    for (const value_id id : node.operands) {
      operand_slots.push_back(id == no_value ? gradient_slot{} : slots[id]);
    }
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
