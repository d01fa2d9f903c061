#pragma once

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

}  // namespace detail

GLIA_INLINE metric mae() {
  return {.name = "mae",
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                double sum = 0;
                for (std::size_t i = 0; i < y.size(); ++i) {
                  sum += std::abs(y[i] - t.value(i, y.size()));
                }
                sums[0] += sum / static_cast<double>(y.size());
              },
          .unsupported_reason = detail::refuse_unless_values,
          .smaller_is_better = true};
}

GLIA_INLINE metric rmse() {
  return {.name = "rmse",
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                double sum = 0;
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const double error = y[i] - t.value(i, y.size());
                  sum += error * error;
                }
                sums[0] += sum / static_cast<double>(y.size());
              },
          .result = [](auto sums, double samples) { return std::sqrt(sums[0] / samples); },
          .unsupported_reason = detail::refuse_unless_values,
          .smaller_is_better = true};
}

GLIA_INLINE metric r2_score() {
  enum { errors, count, mean, spread };
  return {.name = "r2_score",
          .state_size = 4,
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const double value = t.value(i, y.size());
                  sums[errors] += (y[i] - value) * (y[i] - value);
                  // Welford, Technometrics 1962: no digits are lost if the mean is large.
                  const double delta = value - sums[mean];
                  sums[mean] += delta / ++sums[count];
                  sums[spread] += delta * (value - sums[mean]);
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
