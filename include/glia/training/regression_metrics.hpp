#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "glia/core/error.hpp"
#include "glia/training/metric.hpp"

namespace glia {

namespace detail {

/// Returns why the metric does not fit these outputs and targets, or an empty text if it fits; see
/// metric::unsupported_reason.
[[nodiscard]] inline std::string refuse_unless_values(const measured_outputs& of) {
  if (of.applied != output_kind::other) {
    return text(
        "the metric compares outputs with targets, but the outputs are logits, to which the loss "
        "applies ",
        name_of(of.applied), "; remove the metric, or compute it from glia::", name_of(of.applied),
        "(net.predict(x))");
  }
  return !of.values || *of.values == of.output
             ? std::string()
             : text("the metric compares each output with a target, but the outputs have shape ",
                    of.output, " and the targets have shape ", *of.values);
}

}  // namespace detail

/// The mean absolute error: the mean of |y - t| over all samples and outputs.
///
/// `fit` and `evaluate` throw `value_error` if outputs and targets differ in shape, or if the loss
/// takes logits.
[[nodiscard]] inline metric mae() {
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

/// The root mean squared error: the square root of the mean of (y - t)^2 over all samples and
/// outputs.
///
/// `fit` and `evaluate` throw `value_error` if outputs and targets differ in shape, or if the loss
/// takes logits.
[[nodiscard]] inline metric rmse() {
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

/// The coefficient of determination R^2: 1 - sum (y - t)^2 / sum (t - mean(t))^2.
///
/// The sums and the mean are over all samples and outputs together. Keras's `R2Score` and
/// scikit-learn's `r2_score` compute one score for each output and average them.
///
/// The score is 1 for perfect predictions, 0 for a model that always predicts the mean of the
/// targets, and NaN if all targets are equal. `fit` and `evaluate` throw `value_error` if outputs
/// and targets differ in shape, or if the loss takes logits.
[[nodiscard]] inline metric r2_score() {
  enum { errors, count, mean, spread };
  return {.name = "r2_score",
          .state_size = 4,
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const double value = t.value(i, y.size());
                  sums[errors] += (y[i] - value) * (y[i] - value);
                  // Welford, Technometrics 1962: no digits are lost if the mean is large.
                  const double off = value - sums[mean];
                  sums[mean] += off / ++sums[count];
                  sums[spread] += off * (value - sums[mean]);
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
