#pragma once

#include <array>
#include <string>
#include <vector>

#include "glia/core/number_text.hpp"
#include "glia/core/text_table.hpp"
#include "glia/layers/plan.hpp"

namespace glia {

/// Formats a number with commas: 1234567 as "1,234,567".
[[nodiscard]] inline std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t position = digits.size(); position > 3;) {
    position -= 3;
    digits.insert(position, 1, ',');
  }
  return digits;
}

/// Formats a quantity with three digits, a decimal prefix and a unit: "407 M", "1.36 GB", "768 B".
[[nodiscard]] inline std::string scaled(double number, const std::string& unit = "") {
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

/// Returns the rows of a summary: one for each layer. Consecutive frozen layers share a row.
[[nodiscard]] inline std::vector<layer_summary> summary_rows(const model_plan& plan) {
  std::vector<layer_summary> rows;
  std::size_t together = 0;
  for (const layer_summary& layer : plan.layers) {
    together = layer.frozen ? together + 1 : 0;
    if (together < 2) {
      rows.push_back(layer);
      continue;
    }
    layer_summary& row = rows.back();
    row.name = text("frozen  ", together, " layers");
    row.description = "to " + layer.name;
    row.output = layer.output;
    row.parameters += layer.parameters;
    row.flops += layer.flops;
    row.activation_bytes += layer.activation_bytes;
  }
  return rows;
}

}  // namespace detail

/// A text table of a model's layers. The columns are the output shape, the number of parameters,
/// and, for one sample, the floating-point operations of the forward pass and the memory that is
/// kept for the backward pass. Consecutive frozen layers share a row.
[[nodiscard]] inline std::string summary_table(const model_plan& plan) {
  std::vector<std::vector<std::string>> rows{
      {"layer", "output", "parameters", "FLOPs", "activations"}};
  std::size_t parameters = 0;
  std::size_t frozen = 0;
  std::size_t bytes = 0;
  for (const layer_summary& layer : detail::summary_rows(plan)) {
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

  std::string result = text_table(rows, 2, true);
  result += "FLOPs and activations are those of one sample.\n";
  if (frozen > 0) {
    result += grouped(parameters - frozen) + " parameters are trained, " + grouped(frozen) +
              " are not (frozen layers, running statistics).\n";
  }
  return result;
}

}  // namespace glia
