#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/onnx/reading/graph_reader.hpp"
#include "glia/onnx/reading/read.hpp"
#include "glia/onnx/reading/read_result.hpp"

namespace glia::onnx {

namespace detail {

/// Converts a name in the file to the name of a layer. Names of layers must not contain separators.
[[nodiscard]] inline std::string layer_name(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) != 0 && !result.empty() &&
        std::islower(static_cast<unsigned char>(result.back())) != 0) {
      result += '_';
    }
    result += static_cast<char>(std::tolower(byte));
  }
  std::replace(result.begin(), result.end(), ' ', '_');
  return result;
}

/// Returns the common prefix of the names of a part's weights: features.0 for features.0.weight and
/// features.0.bias. Returns an empty string if they have nothing in common.
[[nodiscard]] inline std::string common_name(const std::vector<graph_weight>& weights,
                                             const graph_part& part) {
  std::string common;
  for (std::size_t i = 0; i < part.weights.size(); ++i) {
    const std::string& name = weights[part.weights[i]].name;
    const std::string_view prefix(name.data(), std::min(name.rfind('.'), name.size()));
    if (i == 0) {
      common = name.rfind('.') == std::string::npos ? "" : std::string(prefix);
    }
    while (!common.empty() && !name.starts_with(common + '.')) {
      common.resize(common.rfind('.') == std::string::npos ? 0 : common.rfind('.'));
    }
  }
  return common;
}

[[nodiscard]] inline output_kind kind_of(const ::onnx::GraphProto& graph, std::string name) {
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
  result.outputs = outputs;
  if (outputs.empty()) {
    for (const ::onnx::ValueInfoProto& output : graph.output()) {
      result.outputs.push_back(output.name());
    }
  }
  require<data_error>(!result.outputs.empty(), "has no outputs");
  if (result.outputs.size() == 1) {
    result.gives = detail::kind_of(graph, result.outputs[0]);
  }
  return result;
}

namespace detail {

/// Reads the network of a file for batches of `rows` samples. `shapes` gives the other extents of
/// the inputs. Afterwards, `samples.reason()` is empty if the graph can be converted to other batch
/// sizes.
[[nodiscard]] inline read_result read_for(std::size_t rows, const model_content& content,
                                          const graph_interface& model_interface,
                                          std::span<const shape> shapes, bool training,
                                          bool whole_recurrences, sample_tracker& samples) {
  graph_reader reader(content, training);
  graph_builder& out = reader.out;
  out.whole_recurrences = whole_recurrences;
  out.samples.samples = rows;
  read_result result;
  result.rows = rows;
  for (std::size_t i = 0; i < model_interface.inputs.size(); ++i) {
    const graph_input_spec& input = model_interface.inputs[i];
    const value_id id = out.add_samples(input.name, batch_of(rows, sample_of(shapes[i])));
    result.inputs.push_back(id);
    std::vector<std::size_t> order{0};
    for (const std::size_t axis : input.order) {
      order.push_back(axis + 1);
    }
    reader.give(input.name, out.computed(id, order, input.type));
  }
  reader.read(model_interface.outputs);
  for (const std::string& name : model_interface.outputs) {
    const tensor& y = reader.result(name);
    require<data_error>(y.rank() > 0 && y.computed() && y.extents[0] == rows, "the output '", name,
                        "' of shape ", words(y.extents), " does not have one row for each of ",
                        rows, " samples");
    const bool images = model_interface.channels_last && y.rank() == 4;
    const bool along_first = out.has_samples(y, 0);
    const value_id output = images ? out.stored_as(y, {0, 2, 3, 1}) : out.plain(y);
    out.calls.add_output(name, output);
    if (!along_first || out.samples.axis_of(output) != sample_axis{}) {
      out.samples.place = text("the output '", name, "' of shape ", words(y.extents));
      out.samples.refuse("does not have the batch axis as its first axis");
    }
  }
  const auto nodes = out.calls.nodes().size();
  if (nodes > (reader.parts.empty() ? 0 : reader.parts.back().end)) {
    reader.parts.push_back(
        {"Transpose", "Transpose", reader.parts.empty() ? 0 : reader.parts.back().end, nodes, {}});
  }
  result.parts = std::move(reader.parts);
  std::map<std::string, std::size_t> counts;
  for (const graph_part& part : result.parts) {
    std::string name = detail::common_name(out.weights, part);
    if (name.empty()) {
      const std::string kind = detail::layer_name(part.operation);
      name = text(kind, '_', counts[kind]++);
    }
    result.names.push_back(std::move(name));
  }
  samples = std::move(out.samples);
  result.calls = std::move(out.calls);
  result.weights = std::move(out.weights);
  return result;
}

/// Converts a graph to another batch size.
inline void resize(read_result& read, const sample_tracker& samples, std::size_t rows) {
  resized_graph resized = samples.resized(read.calls, rows);
  for (value_id& id : read.inputs) {
    id = resized.values[id];
  }
  for (graph_weight& weight : read.weights) {
    weight.value = resized.values[weight.value];
  }
  for (graph_part& part : read.parts) {
    part.first = resized.nodes[part.first];
    part.end = resized.nodes[part.end];
  }
  read.calls = std::move(resized.calls);
  read.rows = rows;
}

}  // namespace detail

GLIA_INLINE read_result read_graph(const model_content& content,
                                   const graph_interface& model_interface,
                                   std::span<const shape> shapes, bool training,
                                   bool whole_recurrences, bool planning) {
  const std::size_t rows = shapes[0][0];
  sample_tracker samples;
  const auto read = [&](std::size_t count) {
    return detail::read_for(count, content, model_interface, shapes, training, whole_recurrences,
                            samples);
  };
  // The axis of a single sample cannot be distinguished from other axes of extent 1, and layouts
  // must not depend on the batch. Therefore the file is read, if possible, for a batch size that is
  // seldom the extent of another axis.
  if (model_interface.rows == 1 || (model_interface.rows == 0 && rows == 1)) {
    constexpr std::size_t several = 11;
    try {
      read_result result = read(several);
      if (samples.reason().empty()) {
        detail::resize(result, samples, rows);
        return result;
      }
    } catch (const error&) {  // the file supports only one sample
    }
  }
  if (model_interface.rows == 0) {
    return read(rows);
  }
  read_result result = read(model_interface.rows);
  if (rows == model_interface.rows) {
    return result;
  }
  std::string reason = samples.reason();
  if (reason.empty()) {
    try {
      detail::resize(result, samples, rows);
      return result;
    } catch (const error& e) {
      reason = e.what();
    }
  }
  if (planning) {
    return result;
  }
  throw data_error(text("was written for batches of ", model_interface.rows,
                        model_interface.rows == 1 ? " sample" : " samples",
                        " and cannot be used for ", rows, ": ", reason));
}

}  // namespace glia::onnx
