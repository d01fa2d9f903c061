#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/row_part.hpp"
#include "glia/core/shape.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/arrangement.hpp"

namespace glia::onnx::detail {

/// Returns the part that a slice of a row contains, or null.
[[nodiscard]] inline const row_part* sliced_part(const graph_node& node,
                                                 const std::vector<row_part>& parts) {
  const auto* const slice = node.kernel.as<kernels::slice>();
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const row_part& part) {
    return slice != nullptr && slice->axis == 1 && slice->begin == part.first &&
           slice->extent == part.size();
  });
  return found == parts.end() ? nullptr : &*found;
}

/// Replaces the first input of a graph, a row of all named inputs, by one input for each name.
/// Changes nothing if the graph does not begin by splitting the row into these parts.
inline void split_input(graph& g, const std::vector<row_part>& parts) {
  const value_id row = g.inputs().front().value;
  const graph_uses uses(g);
  const std::vector<std::size_t>& readers = uses.takers(row);
  if (parts.empty() || uses.leaves(row) ||
      std::any_of(readers.begin(), readers.end(),
                  [&](std::size_t n) { return sliced_part(g.nodes()[n], parts) == nullptr; })) {
    return;
  }
  const std::size_t rows = g.spec(row).shape[0];
  std::map<std::string, value_id> values;
  std::vector<graph_input> inputs;
  for (const row_part& part : parts) {
    const value_id id = g.add_value({batch_of(rows, part.extents), g.spec(row).type});
    values[part.name] = id;
    inputs.push_back({.name = part.name, .value = id, .of_samples = true});
  }
  inputs.insert(inputs.end(), g.inputs().begin() + 1, g.inputs().end());
  g.inputs() = std::move(inputs);

  // A slice becomes a reshape of its input. A reshape back to the input's shape is the input.
  std::vector<value_id> replaced(g.value_count());
  std::iota(replaced.begin(), replaced.end(), value_id{0});
  std::map<value_id, value_id> sources;
  for (graph_node& node : g.nodes()) {
    if (!node.operands.empty() && node.operands[0] == row) {
      const value_id input = values.at(sliced_part(node, parts)->name);
      sources[node.results[0]] = input;
      node.kernel = kernels::reshape{g.spec(node.results[0]).shape};
      node.operands = {input};
      continue;
    }
    for (value_id& operand : node.operands) {
      operand = operand == no_value ? no_value : replaced[operand];
    }
    const auto source = node.operands.empty() ? sources.end() : sources.find(node.operands[0]);
    if (source != sources.end() && node.kernel.as<kernels::reshape>() != nullptr &&
        g.spec(node.results[0]) == g.spec(source->second)) {
      replaced[node.results[0]] = source->second;
    }
  }
  for (graph_output& output : g.outputs()) {
    output.value = replaced[output.value];
  }
  prune(g);
}

/// Finds the values of named outputs behind the row that contains all of them.
class row_reader {
 public:
  explicit row_reader(const graph& g) : graph_(&g), uses_(g) {}

  /// Returns the values of the parts of a row; nothing if the row is not concatenated from them.
  [[nodiscard]] std::optional<std::vector<value_id>> values_of(
      value_id row, const std::vector<row_part>& parts) const {
    std::vector<value_id> values;
    const bool found = add_values(row, parts, values) && values.size() == parts.size();
    return found ? std::optional(std::move(values)) : std::nullopt;
  }

 private:
  [[nodiscard]] bool add_values(value_id row, const std::vector<row_part>& parts,
                                std::vector<value_id>& values) const {
    if (values.size() == parts.size()) {
      return false;
    }
    const shape& extents = graph_->spec(row).shape;
    const row_part& part = parts[values.size()];
    const value_id operand =
        uses_.made_by<kernels::reshape>(row) != nullptr ? operands_of(row)[0] : row;
    for (const value_id value : {operand, row}) {
      if (graph_->spec(value).shape == batch_of(extents[0], part.extents)) {
        values.push_back(value);
        return true;
      }
    }
    const auto* const concat = uses_.made_by<kernels::concat>(row);
    if (concat == nullptr || concat->axis != 1) {
      return false;
    }
    const std::vector<value_id>& operands = operands_of(row);
    return std::all_of(operands.begin(), operands.end(), [&](value_id id) {
      return id == no_value || add_values(id, parts, values);
    });
  }
  [[nodiscard]] const std::vector<value_id>& operands_of(value_id id) const {
    return graph_->nodes()[uses_.maker(id)].operands;
  }

  const graph* graph_;
  graph_uses uses_;
};

/// Replaces the output of a graph, a row of all named outputs, by one output for each name. Changes
/// nothing if the row is not concatenated from these outputs.
inline void split_output(graph& g, const std::vector<row_part>& parts) {
  const auto values = row_reader(g).values_of(g.outputs().front().value, parts);
  if (!values) {
    return;
  }
  g.outputs().clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    g.add_output(parts[i].name, (*values)[i]);
  }
  prune(g);
}

}  // namespace glia::onnx::detail
