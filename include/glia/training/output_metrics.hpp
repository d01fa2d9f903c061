#pragma once

#include <string>
#include <vector>

#include "glia/core/row_part.hpp"
#include "glia/training/metric.hpp"

namespace glia {

/// Computes a metric for one output of a model with several outputs. The output's name becomes the
/// prefix of the metric's name: for_output("digit", accuracy()) is called "digit_accuracy".
[[nodiscard]] metric for_output(const std::string& output, metric m);

namespace detail {

/// Converts metrics of single outputs to metrics of rows that contain all outputs side by side.
/// Throws `value_error` if a metric names an unknown output, or no output although the model has
/// several outputs.
[[nodiscard]] std::vector<metric> metrics_of_rows(std::vector<metric> metrics,
                                                  const std::vector<row_part>& outputs,
                                                  const std::vector<row_part>& targets);

}  // namespace detail

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/output_metrics_impl.hpp"
#endif
