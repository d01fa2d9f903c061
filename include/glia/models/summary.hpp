#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glia/layers/plan.hpp"

namespace glia {

/// Formats a number with commas: 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::size_t number);

/// Formats a quantity with three digits, a decimal prefix and a unit: "407 M", "1.36 GB", "768 B".
[[nodiscard]] std::string scaled(double number, const std::string& unit = "");

namespace detail {

/// One row of a summary: a layer, several frozen layers, or a join of branches.
struct summary_row {
  layer_summary layer;
  std::vector<std::string> inputs = {};  ///< Names of the layers, joins and inputs that it reads.
};

/// The rows of a summary.
struct summary_rows {
  std::vector<summary_row> rows;
  bool has_branches = false;  ///< Whether a row reads several others or is read by several.
};

/// Returns the rows of a summary. Consecutive frozen layers share a row.
[[nodiscard]] summary_rows rows_of_summary(const model_plan& plan);

}  // namespace detail

/// A text table of a model's layers. The columns are the output shape, the number of parameters,
/// and, for one sample, the floating-point operations of the forward pass and the memory that is
/// kept for the backward pass. Consecutive frozen layers share a row.
///
/// For a model with branches, another column lists the layers and inputs that each layer reads, and
/// joins of branches have rows, such as `residual_0  add`.
[[nodiscard]] std::string summary_table(const model_plan& plan);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/summary_impl.hpp"
#endif
