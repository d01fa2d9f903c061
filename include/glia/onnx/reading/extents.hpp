#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/batch_numbers.hpp"
#include "glia/onnx/reading/builder.hpp"
#include "glia/onnx/reading/sample_rules.hpp"

// The operators `Shape` and `Size`.
namespace glia::onnx::reading {

/// Returns the result of a node `Shape` or `Size`: extents, or the number of elements, as known
/// numbers.
[[nodiscard]] inline tensor extents_tensor(const ::onnx::NodeProto& node,
                                           const std::vector<tensor>& operands,
                                           const graph_builder& out) {
  require<data_error>(operands.size() == 1 && node.output_size() == 1, "expected one operand");
  const dims& s = operands[0].extents;
  const dims beyond = extents_beyond(out, operands[0]);
  if (node.op_type() == "Size") {
    tensor value =
        known_tensor(integer_numbers({static_cast<std::int64_t>(operands[0].size())}, {}));
    note_beyond(value, integer_numbers({static_cast<std::int64_t>(count_of(beyond))}, {}));
    return value;
  }
  const auto rank = static_cast<std::int64_t>(s.size());
  std::int64_t begin = 0;
  std::int64_t end = rank;
  for (const ::onnx::AttributeProto& a : node.attribute()) {
    const std::int64_t position =
        std::clamp<std::int64_t>(a.i() < 0 ? a.i() + rank : a.i(), 0, rank);
    (a.name() == "start" ? begin : end) = position;
  }
  const auto select = [&](const dims& extents) {
    std::vector<std::int64_t> elements;
    for (std::int64_t i = begin; i < end; ++i) {
      elements.push_back(static_cast<std::int64_t>(extents[static_cast<std::size_t>(i)]));
    }
    const std::size_t count = elements.size();
    return integer_numbers(std::move(elements), {count});
  };
  tensor value = known_tensor(select(s));
  note_beyond(value, select(beyond));
  return value;
}

}  // namespace glia::onnx::reading
