#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "glia/core/error.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/graph_body.hpp"

// Operators that the file defines as functions.
namespace glia::onnx::reading {

/// Replaces references to attributes of a function by the values in its call.
inline void resolve_attributes(::onnx::NodeProto& node, const ::onnx::NodeProto& call) {
  for (int k = node.attribute_size(); k-- > 0;) {
    ::onnx::AttributeProto& a = *node.mutable_attribute(k);
    if (a.has_g()) {
      for (::onnx::NodeProto& inner : *a.mutable_g()->mutable_node()) {
        resolve_attributes(inner, call);
      }
    }
    if (a.ref_attr_name().empty()) {
      continue;
    }
    const auto argument =
        std::find_if(call.attribute().begin(), call.attribute().end(),
                     [&](const auto& other) { return other.name() == a.ref_attr_name(); });
    if (argument == call.attribute().end()) {
      node.mutable_attribute()->DeleteSubrange(k, 1);
      continue;
    }
    const std::string called = a.name();
    a = *argument;
    a.set_name(called);
  }
}

/// Returns a copy of a function's nodes, with the values of the attributes in a call.
[[nodiscard]] inline graph_body::node_list function_nodes(const ::onnx::FunctionProto& function,
                                                          const ::onnx::NodeProto& call) {
  require<data_error>(function.unknown_fields().empty(),
                      "is a function whose attributes have defaults, which glia does not support");
  graph_body::node_list nodes = function.node();
  for (::onnx::NodeProto& node : nodes) {
    resolve_attributes(node, call);
  }
  return nodes;
}

/// Returns the opset of a function's nodes. It is the opset of the caller, `otherwise`, if the
/// function names no opset.
[[nodiscard]] inline std::int64_t function_opset(const ::onnx::FunctionProto& function,
                                                 std::int64_t otherwise) {
  std::int64_t opset = otherwise;
  for (const auto& opset_id : function.opset_import()) {
    if (opset_id.domain().empty() || opset_id.domain() == "ai.onnx") {
      opset = opset_id.version();
    }
  }
  return opset;
}

}  // namespace glia::onnx::reading
