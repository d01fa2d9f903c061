#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "glia/onnx/proto.hpp"

namespace glia::onnx {

/// A graph of a file, of a branch or of a function: its nodes, and the node that computes each
/// value.
struct graph_body {
  using node_list = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

  /// The largest depth of nested branches and functions.
  static constexpr int deepest = 32;

  const node_list& nodes;
  const ::onnx::GraphProto* graph;              ///< Graph; null for a function.
  const graph_body* outer = nullptr;            ///< Surrounding graph. Nodes can use its values.
  std::map<std::string, std::size_t> makers{};  ///< Index of the node that computes each value.
  std::map<std::string, std::size_t> takers{};  ///< Number of uses of each value.
  std::map<std::size_t, std::string> gelus{};   ///< The last node of each GELU, and its operand.

  graph_body(const node_list& body_nodes, const ::onnx::GraphProto* message,
             const graph_body* surrounding = nullptr)
      : nodes(body_nodes), graph(message), outer(surrounding) {
    for (int i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].output()) {
        if (!output.empty()) {
          makers.emplace(output, static_cast<std::size_t>(i));
        }
      }
    }
  }

  /// Returns, for each node, whether these outputs need it. Also counts the uses of values.
  [[nodiscard]] std::vector<bool> needed(const std::vector<std::string>& outputs) {
    std::vector<bool> is_needed(static_cast<std::size_t>(nodes.size()), false);
    std::vector<std::string> open = outputs;
    for (const std::string& output : outputs) {
      ++takers[output];
    }
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      const auto maker = makers.find(name);
      if (maker == makers.end() || is_needed[maker->second]) {
        continue;
      }
      is_needed[maker->second] = true;
      for (const std::string& operand : operands_of(maker->second)) {
        ++takers[operand];
        open.push_back(operand);
      }
    }
    return is_needed;
  }

 private:
  [[nodiscard]] std::vector<std::string> operands_of(std::size_t i) const {
    const auto gelu = gelus.find(i);
    if (gelu != gelus.end()) {
      return {gelu->second};
    }
    std::vector<std::string> names;
    add_operands(nodes[static_cast<int>(i)], names, 0);
    return names;
  }
  /// Adds the names of a node's operands. Includes the operands of nodes in its branches, because
  /// they can use values of the surrounding graph.
  static void add_operands(const ::onnx::NodeProto& node, std::vector<std::string>& names,
                           int depth) {
    names.insert(names.end(), node.input().begin(), node.input().end());
    for (const ::onnx::AttributeProto& a : node.attribute()) {
      if (a.has_g() && depth < deepest) {
        for (const ::onnx::NodeProto& inner : a.g().node()) {
          add_operands(inner, names, depth + 1);
        }
        for (const auto& output : a.g().output()) {
          names.push_back(output.name());
        }
      }
    }
  }
};

}  // namespace glia::onnx
