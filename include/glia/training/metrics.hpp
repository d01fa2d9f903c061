#pragma once

#include <cstddef>
#include <string>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/training/class_metrics.hpp"
#include "glia/training/metric.hpp"
#include "glia/training/output_metrics.hpp"
#include "glia/training/ranking_metrics.hpp"
#include "glia/training/regression_metrics.hpp"

namespace glia {

/// The fraction of samples whose predicted class is the true class.
///
/// The predicted class is the highest of the K outputs. For a model with one output, class 1 is
/// predicted if the output is above a threshold: 0 for logits, 0.5 if the model ends in a sigmoid
/// or the loss is a regression loss, because such losses train outputs towards 0 and 1. Targets of
/// -1 and 1 are allowed with `hinge` and with losses that take logits.
///
/// For sequences, the accuracy of a sample is the mean over its steps. Steps with the label -1 are
/// ignored.
///
/// Keras chooses between `BinaryAccuracy`, `CategoricalAccuracy` and `SparseCategoricalAccuracy`;
/// this metric covers all three, except for samples with several labels; for these, use `f1_score`.
[[nodiscard]] inline metric accuracy() { return {.name = "accuracy", .k = 1}; }
/// The fraction of samples whose true class is among the k highest outputs. For k = 3, the metric
/// has the name "top_3_accuracy".
///
/// Throws `value_error` if k is 0; `fit` and `evaluate` throw it if k is greater than the number of
/// outputs.
[[nodiscard]] inline metric top_k_accuracy(std::size_t k) {
  require<value_error>(k > 0, "top_k_accuracy: expected k of at least 1");
  return {.name = text("top_", k, "_accuracy"),
          .k = k,
          .unsupported_reason = [k](const measured_outputs& measured) {
            const shape& output = measured.output;
            return output.rank() == 1 && k > output[0]
                       ? text("expected k from 1 to the model's ", output[0], " outputs, got ", k)
                       : std::string();
          }};
}

}  // namespace glia
