#pragma once

#include <cstddef>
#include <string>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/training/binary_metrics.hpp"
#include "glia/training/metric.hpp"
#include "glia/training/output_metrics.hpp"
#include "glia/training/regression_metrics.hpp"

namespace glia {

/// The share of samples whose class has the highest score; for a model with one output, of those
/// that lie on their class's side of the border: 0 for a logit, 1/2 where the model ends in a
/// sigmoid or the loss is that of a regression, which brings outputs close to 0 and 1 (targets of
/// -1 and 1 are for losses of logits and `hinge`). Of sequences it is the mean over a sample's
/// steps that have a class.
[[nodiscard]] inline metric accuracy() { return {.name = "accuracy", .k = 1}; }
/// The share of samples whose class is among the k highest scores.
[[nodiscard]] inline metric top_k(std::size_t k) {
  require<value_error>(k > 0, "top_k: expected k of at least 1");
  return {.name = text("top_", k), .k = k, .refuses = [k](const measured_outputs& of) {
            const shape& output = of.output;
            return output.rank() == 1 && k > output[0]
                       ? text("expected k from 1 to the model's ", output[0], " outputs, got ", k)
                       : std::string();
          }};
}

}  // namespace glia
