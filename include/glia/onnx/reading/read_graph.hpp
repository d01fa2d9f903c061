#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/onnx/reading/graph_reader.hpp"
#include "glia/onnx/reading/output_tensors.hpp"
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

/// Adds the inputs of a file to a graph, for batches of `rows` samples, and returns their values.
/// `shapes` gives the other extents.
[[nodiscard]] inline std::vector<value_id> add_inputs(graph_reader& reader, std::size_t rows,
                                                      const graph_interface& model_interface,
                                                      std::span<const shape> shapes) {
  graph_builder& out = reader.out;
  out.samples.samples = rows;
  std::vector<value_id> values;
  for (std::size_t i = 0; i < model_interface.inputs.size(); ++i) {
    const graph_input_spec& input = model_interface.inputs[i];
    const value_id id = out.add_samples(input.name, batch_of(rows, sample_of(shapes[i])));
    values.push_back(id);
    std::vector<std::size_t> order{0};
    for (const std::size_t axis : input.order) {
      order.push_back(axis + 1);
    }
    reader.give(input.name, out.computed(id, order, input.type));
  }
  return values;
}

/// Returns the names of a graph's parts: the common prefix of their weights, or the operator and a
/// number.
[[nodiscard]] inline std::vector<std::string> part_names(const std::vector<graph_part>& parts,
                                                         const std::vector<graph_weight>& weights) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> counts;
  for (const graph_part& part : parts) {
    std::string name = common_name(weights, part);
    if (name.empty()) {
      const std::string kind = layer_name(part.operation);
      name = text(kind, '_', counts[kind]++);
    }
    names.push_back(std::move(name));
  }
  return names;
}

/// Returns the layers of a file's whole network, as `summary` shows them, whose outputs are tensors
/// of the file.
[[nodiscard]] inline std::vector<layer_result> layer_results(const model_content& content,
                                                             const graph_interface& model_interface,
                                                             std::span<const shape> shapes,
                                                             bool whole_recurrences) {
  graph_reader reader(content, true);  // a summary shows the layers of a training pass
  reader.out.whole_recurrences = whole_recurrences;
  const std::size_t rows = model_interface.rows == 0 ? shapes[0][0] : model_interface.rows;
  static_cast<void>(add_inputs(reader, rows, model_interface, shapes));
  reader.read(declared_outputs(content.graph()));
  const std::vector<std::string> names = part_names(reader.parts, reader.out.weights);
  std::vector<layer_result> results;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!reader.parts[i].result.empty()) {
      results.push_back({names[i], reader.parts[i].result});
    }
  }
  return results;
}

/// Reads the network of a file for batches of `rows` samples, with the tensors `outputs` as its
/// outputs. `shapes` gives the other extents of the inputs. Afterwards, `samples.reason()` is empty
/// if the graph can be converted to other batch sizes.
[[nodiscard]] inline read_result read_for(std::size_t rows, const model_content& content,
                                          const graph_interface& model_interface,
                                          const std::vector<std::string>& outputs,
                                          std::span<const shape> shapes, bool training,
                                          bool whole_recurrences, sample_tracker& samples) {
  graph_reader reader(content, training);
  graph_builder& out = reader.out;
  out.whole_recurrences = whole_recurrences;
  read_result result;
  result.rows = rows;
  result.inputs = add_inputs(reader, rows, model_interface, shapes);
  reader.read(outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model_interface.outputs[i];
    const tensor& y = reader.result(outputs[i]);
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
  result.names = part_names(result.parts, out.weights);
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
  const std::vector<std::string> outputs = detail::output_tensors(
      model_interface.outputs, content.graph(),
      [&] { return detail::layer_results(content, model_interface, shapes, whole_recurrences); });
  sample_tracker samples;
  const auto read = [&](std::size_t count) {
    return detail::read_for(count, content, model_interface, outputs, shapes, training,
                            whole_recurrences, samples);
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
