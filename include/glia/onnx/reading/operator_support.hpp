#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/fold.hpp"
#include "glia/onnx/reading/graph_body.hpp"
#include "glia/onnx/reading/model_content.hpp"
#include "glia/onnx/reading/operators.hpp"

// Finds the operators of a file that glia does not support.
namespace glia::onnx::reading {

/// Returns the name of a node's operator, with its domain.
[[nodiscard]] inline std::string full_name(const ::onnx::NodeProto& node) {
  return node.domain().empty() ? node.op_type() : text(node.domain(), '.', node.op_type());
}

[[nodiscard]] inline bool is_known_operator(const ::onnx::NodeProto& node,
                                            const model_content& content) {
  if (content.function(node.domain(), node.op_type()) != nullptr) {
    return true;
  }
  if (!node.domain().empty() && node.domain() != "ai.onnx") {
    return false;
  }
  const std::string& name = node.op_type();
  return name == "Constant" || name == "Shape" || name == "Size" || name == "If" ||
         name == "Loop" || reader_of(name) != nullptr || folding::function_of(name) != nullptr;
}

/// Throws `data_error`, with the operators' names, if glia does not support the operators of some
/// nodes that are needed.
inline void require_operators(const graph_body& b, const std::vector<bool>& needed,
                              const model_content& content) {
  const ::onnx::NodeProto* first = nullptr;
  std::set<std::string> missing;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const ::onnx::NodeProto& node = b.nodes[static_cast<int>(i)];
    if (needed[i] && !is_known_operator(node, content)) {
      first = first == nullptr ? &node : first;
      missing.insert(full_name(node));
    }
  }
  if (first == nullptr) {
    return;
  }
  missing.erase(full_name(*first));
  std::string other_names;
  for (const std::string& name : missing) {
    other_names += text(other_names.empty() ? "" : ", ", name);
  }
  throw data_error(text("glia does not support the operator '", full_name(*first), "' (opset ",
                        content.opset(), ") of the node '", first->name(), "'",
                        other_names.empty()
                            ? std::string()
                            : text("; ", missing.size(),
                                   " other operators are not supported either: ", other_names)));
}

}  // namespace glia::onnx::reading
