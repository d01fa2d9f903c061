#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/core/number_text.hpp"
#include "glia/core/text_table.hpp"
#include "glia/models/summary.hpp"

namespace glia {

GLIA_INLINE std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t position = digits.size(); position > 3;) {
    position -= 3;
    digits.insert(position, 1, ',');
  }
  return digits;
}

GLIA_INLINE std::string scaled(double number, const std::string& unit) {
  constexpr std::array prefixes{"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (number >= 999.5 && prefix + 1 < prefixes.size()) {
    number /= 1000;
    ++prefix;
  }
  const int decimals = prefix == 0 || number >= 100 ? 0 : number >= 10 ? 1 : 2;
  const std::string suffix = prefixes[prefix] + unit;
  return fixed_text(number, decimals) + (suffix.empty() ? "" : " " + suffix);
}

namespace detail {

GLIA_INLINE summary_rows rows_of_summary(const model_plan& plan) {
  summary_rows result;
  std::vector<summary_row>& rows = result.rows;
  std::size_t together = 0;
  const auto add_layer = [&](const layer_summary& layer) {
    together = layer.frozen ? together + 1 : 0;
    if (together < 2) {
      rows.push_back({layer});
      return;
    }
    layer_summary& row = rows.back().layer;
    row.name = text("frozen  ", together, " layers");
    row.description = "to " + layer.name;
    row.output = layer.output;
    row.parameters += layer.parameters;
    row.flops += layer.flops;
    row.activation_bytes += layer.activation_bytes;
  };
  if (plan.nodes.empty()) {  // a plan that was not made from a description
    std::for_each(plan.layers.begin(), plan.layers.end(), add_layer);
    return result;
  }
  // The row of each node. An input has no row.
  constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> row_of(plan.nodes.size(), no_row);
  const auto next_layer = [&](std::size_t n) {
    while (n < plan.nodes.size() && plan.nodes[n].kind != layer_node_kind::layer) {
      ++n;
    }
    return n;
  };
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const layer_node& node = plan.nodes[n];
    if (node.kind == layer_node_kind::layer) {
      add_layer(plan.layers[node.layer]);
    } else if (node.kind == layer_node_kind::join) {
      const std::size_t next = next_layer(n);
      const bool is_inside =  // of a row of frozen layers
          together > 0 && next < plan.nodes.size() && plan.layers[plan.nodes[next].layer].frozen;
      if (!is_inside) {
        together = 0;
        rows.push_back({{node.name, node.description, node.output}});
      }
    } else {
      continue;
    }
    row_of[n] = rows.size() - 1;
  }
  // By row; inputs count after the rows.
  std::vector<std::size_t> readers(rows.size() + plan.nodes.size());
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    if (row_of[n] == no_row) {
      continue;
    }
    std::vector<std::string>& inputs = rows[row_of[n]].inputs;
    for (const std::size_t source : plan.nodes[n].sources) {
      const std::string& name = plan.nodes[source].name;
      const bool is_new = row_of[source] != row_of[n] &&
                          std::find(inputs.begin(), inputs.end(), name) == inputs.end();
      if (is_new) {
        inputs.push_back(name);
        const bool has_row = row_of[source] != no_row;
        const bool is_read_again = ++readers[has_row ? row_of[source] : rows.size() + source] > 1;
        result.has_branches = result.has_branches || is_read_again || inputs.size() > 1;
      }
    }
  }
  return result;
}

}  // namespace detail

GLIA_INLINE std::string summary_table(const model_plan& plan) {
  const detail::summary_rows summary = detail::rows_of_summary(plan);
  std::vector<std::vector<std::string>> rows{
      {"layer", "output", "parameters", "FLOPs", "activations"}};
  std::size_t parameters = 0;
  std::size_t frozen = 0;
  std::size_t bytes = 0;
  for (const auto& [layer, inputs] : summary.rows) {
    rows.push_back({layer.name + "  " + layer.description, text(batch_text(layer.output)),
                    grouped(layer.parameters), scaled(layer.flops),
                    scaled(static_cast<double>(layer.activation_bytes), "B")});
    parameters += layer.parameters;
    bytes += layer.activation_bytes;
  }
  for (const parameter_spec& spec : plan.parameters) {
    frozen += spec.trainable ? 0 : spec.shape.size();
  }
  rows.push_back({"total", text(batch_text(plan.output)), grouped(parameters), scaled(plan.flops()),
                  scaled(static_cast<double>(bytes), "B")});
  if (summary.has_branches) {
    rows.front().insert(rows.front().begin() + 1, "inputs");
    rows.back().insert(rows.back().begin() + 1, "");
    for (std::size_t i = 0; i < summary.rows.size(); ++i) {
      rows[i + 1].insert(rows[i + 1].begin() + 1, detail::with_commas(summary.rows[i].inputs));
    }
  }

  std::string result = text_table(rows, summary.has_branches ? 3 : 2, true);
  result += "FLOPs and activations are those of one sample.\n";
  if (frozen > 0) {
    result += grouped(parameters - frozen) + " parameters are trained, " + grouped(frozen) +
              " are not (frozen layers, running statistics).\n";
  }
  return result;
}

}  // namespace glia
