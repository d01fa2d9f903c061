#pragma once

#include <cstddef>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/core/shape.hpp"
#include "glia/layers/plan.hpp"
#include "glia/models/summary.hpp"
#include "glia/report/report_table.hpp"

namespace glia::detail {

/// Returns a table of a model's layers, with the same rows as the model's summary.
[[nodiscard]] inline report_table layers_table(const model_plan& plan) {
  report_table table{
      .caption = "Layers",
      .headers = {"layer", "description", "output", "parameters", "FLOPs", "activations"},
      .totals = true,
      .note = "FLOPs and activations are those of one sample."};
  const auto bytes = [](std::size_t count) { return scaled(static_cast<double>(count), "B"); };
  layer_summary total{.name = "total", .description = {}, .output = plan.output};
  const summary_rows summary = rows_of_summary(plan);
  std::vector<summary_row> rows = summary.rows;
  for (const auto& [layer, inputs] : rows) {
    total.parameters += layer.parameters;
    total.flops += layer.flops;
    total.activation_bytes += layer.activation_bytes;
  }
  rows.push_back({total});
  for (const auto& [layer, inputs] : rows) {
    table.rows.push_back({layer.name, layer.description, text(batch_text(layer.output)),
                          grouped(layer.parameters), scaled(layer.flops),
                          bytes(layer.activation_bytes)});
    if (summary.has_branches) {
      table.rows.back().insert(table.rows.back().begin() + 2, with_commas(inputs));
    }
  }
  if (summary.has_branches) {
    table.headers.insert(table.headers.begin() + 2, "inputs");
  }
  return table;
}

}  // namespace glia::detail
