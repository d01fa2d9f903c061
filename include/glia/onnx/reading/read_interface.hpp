#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/onnx/reading/output_tensors.hpp"
#include "glia/onnx/reading/read.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/tensor.hpp"

namespace glia::onnx {

namespace detail {

/// Returns the activation of a layer without weights, whose name is that of its operator and a
/// number.
[[nodiscard]] inline output_kind kind_of_layer(std::string_view name) {
  const std::string_view kind = name.substr(0, name.find_last_not_of("0123456789") + 1);
  return kind == "softmax_"   ? output_kind::softmax
         : kind == "sigmoid_" ? output_kind::sigmoid
                              : output_kind::other;
}

/// Returns the activation at the end of a tensor or a layer of the file.
[[nodiscard]] inline output_kind kind_of(const ::onnx::GraphProto& graph, std::string name) {
  const auto tensors = computed_tensors(graph);
  if (std::find(tensors.begin(), tensors.end(), name) == tensors.end()) {
    return kind_of_layer(name);
  }
  for (int i = graph.node_size(); i-- > 0;) {
    const ::onnx::NodeProto& node = graph.node(i);
    const bool is_output =
        std::find(node.output().begin(), node.output().end(), name) != node.output().end();
    if (!is_output) {
      continue;
    }
    if (node.op_type() == "Softmax") {
      return output_kind::softmax;
    }
    if (node.op_type() == "Sigmoid") {
      return output_kind::sigmoid;
    }
    const bool same = node.op_type() == "Identity" || node.op_type() == "Reshape" ||
                      node.op_type() == "Flatten" || node.op_type() == "Squeeze";
    if (!same || node.input_size() == 0) {
      break;
    }
    name = node.input(0);
  }
  return output_kind::other;
}

[[nodiscard]] inline graph_input_spec input_spec(const ::onnx::ValueInfoProto& input,
                                                 bool channels_last) {
  graph_input_spec result;
  result.name = input.name();
  require<data_error>(input.type().has_tensor_type(), "the input '", input.name(),
                      "' is not a tensor");
  const auto& type = input.type().tensor_type();
  result.type = type.elem_type();
  require<data_error>(raw_size(result.type) > 0, "the input '", input.name(),
                      "' has elements of the unsupported type ", name_of_type(result.type));
  const int rank = type.shape().dim_size();
  require<data_error>(rank > 0, "the input '", input.name(), "' has no batch axis");
  require<data_error>(rank <= static_cast<int>(shape::max_rank), "the input '", input.name(),
                      "' has ", rank, " axes; glia supports at most ", shape::max_rank);
  bool open = false;
  for (int i = 0; i < rank; ++i) {
    const auto& extent = type.shape().dim(i);
    const std::int64_t count = extent.has_dim_value() ? extent.dim_value() : 0;
    if (i == 0) {
      result.rows = count > 0 ? static_cast<std::size_t>(count) : 0;
      continue;
    }
    open = open || count <= 0;
    result.extents.push_back(count > 0 ? std::optional(static_cast<std::size_t>(count))
                                       : std::nullopt);
  }
  result.order = plain_order(result.extents.size());
  if (channels_last && rank == 4) {
    result.order = {1, 2, 0};
  }
  result.words = "(";
  dims sample;
  for (std::size_t i = 0; i < result.order.size(); ++i) {
    const auto& extent = result.extents[result.order[i]];
    sample.push_back(extent.value_or(1));
    result.words += text(i == 0 ? "" : ", ", extent ? std::to_string(*extent) : "?");
  }
  result.words += ')';
  static_cast<void>(count_of(sample));
  if (!open) {
    result.sample = shape_of(sample);
  }
  return result;
}

}  // namespace detail

GLIA_INLINE graph_interface interface_of(const model_content& content, bool channels_last,
                                         const std::vector<std::string>& outputs) {
  const ::onnx::GraphProto& graph = content.graph();
  graph_interface result;
  result.channels_last = channels_last;
  std::set<std::string> weights;
  for (const ::onnx::TensorProto& initializer : graph.initializer()) {
    weights.insert(initializer.name());
  }
  for (const ::onnx::ValueInfoProto& input : graph.input()) {
    if (!weights.contains(input.name())) {
      result.inputs.push_back(detail::input_spec(input, channels_last));
    }
  }
  require<data_error>(!result.inputs.empty(), "has no inputs");
  for (const graph_input_spec& input : result.inputs) {
    require<data_error>(input.rows == 0 || result.rows == 0 || input.rows == result.rows,
                        "the first axis of the input '", input.name, "' has the extent ",
                        input.rows, ", that of another input ", result.rows,
                        "; expected the batch axis as the first axis of each input");
    result.rows = std::max(result.rows, input.rows);
    require<data_error>(result.inputs.size() == 1 || input.sample.has_value(), "the input '",
                        input.name,
                        "' does not fix its shape, which is necessary if there are several inputs");
  }
  result.outputs = outputs.empty() ? detail::declared_outputs(graph) : outputs;
  require<data_error>(!result.outputs.empty(), "has no outputs");
  if (result.outputs.size() == 1) {
    result.gives = detail::kind_of(graph, result.outputs[0]);
  }
  return result;
}

}  // namespace glia::onnx
