#pragma once

#include <span>
#include <string>
#include <vector>

#include "glia/core/xtensor.hpp"
#include "glia/training/class_count.hpp"

namespace glia {

/// Counts the labels of N samples that can have several of K labels each. Label k is predicted for
/// a sample if output k is above `threshold`: use 0 for logits and 0.5 for probabilities. The
/// targets (N, K) are 1 for the labels of a sample, and 0 for other labels.
///
/// Throws `shape_error` unless both arrays have the shape (N, K), and `data_error` if a target is
/// neither 0 nor 1.
[[nodiscard]] std::vector<class_count> label_counts(const xt::xarray<float>& outputs,
                                                    const xt::xarray<float>& targets,
                                                    double threshold = 0);

/// Returns a text table with precision, recall, F1 score and the number of samples of each class,
/// and with the averages of these scores; `include_empty` is that of `average`. Throws
/// `value_error` unless `names` contains one name for each class.
[[nodiscard]] std::string class_report(std::span<const class_count> counts,
                                       std::span<const std::string> names,
                                       bool include_empty = false);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/class_report_impl.hpp"
#endif
