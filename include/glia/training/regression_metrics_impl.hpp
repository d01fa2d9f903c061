#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/training/metric.hpp"
#include "glia/training/regression_metrics.hpp"

namespace glia {

namespace detail {

/// Returns why the metric does not fit these outputs and targets, or an empty text if it fits; see
/// metric::unsupported_reason.
GLIA_INLINE std::string refuse_unless_values(const measured_outputs& measured) {
  if (measured.applied != output_kind::other) {
    return text(
        "the metric compares outputs with targets, but the outputs are logits, to which the loss "
        "applies ",
        name_of(measured.applied),
        "; remove the metric, or compute it from glia::", name_of(measured.applied),
        "(net.predict(x))");
  }
  return !measured.values || *measured.values == measured.output
             ? std::string()
             : text("the metric compares each output with a target, but the outputs have shape ",
                    measured.output, " and the targets have shape ", *measured.values);
}

/// A metric that is the mean of an error (y, t) over all samples and outputs.
GLIA_INLINE metric error_metric(const std::string& name, double (*error)(double, double)) {
  return {.name = name,
          .update_state =
              [error](auto y, const sample_target& t, auto sums) {
                double sum = 0;
                for (std::size_t i = 0; i < y.size(); ++i) {
                  sum += error(y[i], t.value(i, y.size()));
                }
                sums[0] += sum / static_cast<double>(y.size());
              },
          .unsupported_reason = refuse_unless_values,
          .smaller_is_better = true};
}

}  // namespace detail

GLIA_INLINE metric mae() {
  return detail::error_metric("mae", [](double y, double t) { return std::abs(y - t); });
}

GLIA_INLINE metric mape() {
  metric result = detail::error_metric("mape", [](double y, double t) {
    return std::abs(y - t) / std::max(std::abs(t), std::numeric_limits<double>::epsilon());
  });
  result.unsupported_reason = [](const measured_outputs& measured) {
    return measured.values ? detail::refuse_unless_values(measured)
                           : "expected real-valued targets, got class labels";
  };
  return result;
}

GLIA_INLINE metric rmse() {
  metric result =
      detail::error_metric("rmse", [](double y, double t) { return (y - t) * (y - t); });
  result.result = [](auto sums, double samples) { return std::sqrt(sums[0] / samples); };
  return result;
}

GLIA_INLINE metric r2_score() {
  enum { errors, count, mean, spread };
  return {.name = "r2_score",
          .state_size = 4,
          .reads_weight = true,
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                for (std::size_t i = 0; i < y.size() && t.weight > 0; ++i) {
                  const double value = t.value(i, y.size());
                  sums[errors] += t.weight * (y[i] - value) * (y[i] - value);
                  // Welford, Technometrics 1962, and West, Communications of the ACM 22, 1979: no
                  // digits are lost if the mean is large.
                  const double delta = value - sums[mean];
                  sums[count] += t.weight;
                  sums[mean] += delta * t.weight / sums[count];
                  sums[spread] += t.weight * delta * (value - sums[mean]);
                }
              },
          .result =
              [](auto sums, double) {
                return sums[spread] > 0 ? 1 - sums[errors] / sums[spread]
                                        : std::numeric_limits<double>::quiet_NaN();
              },
          .unsupported_reason = detail::refuse_unless_values};
}

}  // namespace glia
