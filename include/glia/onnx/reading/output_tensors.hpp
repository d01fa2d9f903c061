#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/onnx/proto.hpp"

namespace glia::onnx::detail {

/// A layer of a file's network, and the name of the tensor that contains its output.
struct layer_result {
  std::string layer;
  std::string tensor;
};

/// Returns the first names with commas between them.
[[nodiscard]] inline std::string first_names(std::vector<std::string> names) {
  constexpr std::size_t max_names = 20;
  if (names.size() > max_names) {
    names.resize(max_names);
    names.emplace_back("...");
  }
  return glia::detail::with_commas(names);
}

/// Returns the names of the tensors that the nodes of a graph compute, in the order of the nodes.
[[nodiscard]] inline std::vector<std::string> computed_tensors(const ::onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const ::onnx::NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty() && node.op_type() != "Constant") {
        names.push_back(name);
      }
    }
  }
  return names;
}

/// Returns the names of the outputs that a file declares.
[[nodiscard]] inline std::vector<std::string> declared_outputs(const ::onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const ::onnx::ValueInfoProto& output : graph.output()) {
    names.push_back(output.name());
  }
  return names;
}

/// Returns the names of the tensors for names of tensors or layers. A name that is both means the
/// tensor. The last of several layers with one name counts. `read_layers()` returns the layers of
/// the whole network as `layer_result` objects; it is called only if a name is not a tensor. Throws
/// `data_error` with the available names if the file has neither.
template <class ReadLayers>
[[nodiscard]] std::vector<std::string> output_tensors(const std::vector<std::string>& names,
                                                      const ::onnx::GraphProto& graph,
                                                      const ReadLayers& read_layers) {
  const std::vector<std::string> computed = computed_tensors(graph);
  std::set<std::string> tensors(computed.begin(), computed.end());
  for (const auto& input : graph.input()) {
    tensors.insert(input.name());
  }
  for (const auto& output : graph.output()) {
    tensors.insert(output.name());
  }
  std::vector<std::string> result = names;
  if (std::all_of(names.begin(), names.end(),
                  [&](const std::string& name) { return tensors.contains(name); })) {
    return result;
  }
  std::vector<layer_result> layers;
  std::string reason;
  try {
    layers = read_layers();
  } catch (const error& e) {
    reason =
        text("; glia cannot read the whole file, so that its layers have no names: ", e.what());
  }
  for (std::string& name : result) {
    if (tensors.contains(name)) {
      continue;
    }
    const auto found =
        std::find_if(layers.rbegin(), layers.rend(),
                     [&](const layer_result& candidate) { return candidate.layer == name; });
    if (found == layers.rend()) {
      std::vector<std::string> layer_names;
      layer_names.reserve(layers.size());
      for (const layer_result& layer : layers) {
        layer_names.push_back(layer.layer);
      }
      throw data_error(text("the file has no tensor or layer named '", name,
                            "'; the layers are: ", first_names(std::move(layer_names)),
                            "; the tensors are: ", first_names(computed), reason));
    }
    name = found->tensor;
  }
  return result;
}

}  // namespace glia::onnx::detail
