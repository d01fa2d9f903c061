#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/reshaping.hpp"

namespace glia::onnx::reading {

/// Reshapes the second operand for opsets up to 6. There, an attribute gives the axes of the
/// operand, and the slopes of PRelu are along the channels.
inline void legacy_broadcast(operation& n) {
  if (n.opset >= 7 || n.x.size() != 2 || !n.x[0] || !n.x[1]) {
    return;
  }
  const std::size_t rank = n.x[0].rank();
  std::int64_t axis = n.node.op_type() == "PRelu" && n.x[1].rank() == 1 && rank > 1 ? 1 : -1;
  const auto attribute = [&](std::string_view name, std::int64_t otherwise) {
    for (const ::onnx::AttributeProto& a : n.node.attribute()) {
      otherwise = a.name() == name ? a.i() : otherwise;
    }
    return otherwise;
  };
  if (attribute("broadcast", 0) != 0) {
    axis = attribute("axis", axis);
  }
  if (axis < 0 || static_cast<std::size_t>(axis) + n.x[1].rank() >= rank) {
    return;
  }
  dims extents = n.x[1].extents;
  extents.resize(rank - static_cast<std::size_t>(axis), 1);
  n.x[1] = reshaped(n.out, n.x[1], extents);
}

}  // namespace glia::onnx::reading
