#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "glia/core/error.hpp"
#include "glia/training/metric.hpp"

namespace glia {

namespace detail {

/// See metric::refuses.
[[nodiscard]] inline std::string refuse_unless_values(const measured_outputs& of) {
  if (of.applied != output_kind::other) {
    return text(
        "compares the model's outputs with the targets, and these are logits, to which the "
        "loss applies a ",
        name_of(of.applied), "; leave it out, or measure glia::", name_of(of.applied),
        "(net.predict(x))");
  }
  return !of.values || *of.values == of.output
             ? std::string()
             : text("compares each output with a target, the model gives ", of.output,
                    ", the targets are ", *of.values);
}

}  // namespace detail

/// The mean of |y - t| over samples and outputs.
[[nodiscard]] inline metric mae() {
  return {.name = "mae",
          .add =
              [](auto y, const sample_target& t, auto sums) {
                double sum = 0;
                for (std::size_t i = 0; i < y.size(); ++i) {
                  sum += std::abs(y[i] - t.value(i, y.size()));
                }
                sums[0] += sum / static_cast<double>(y.size());
              },
          .refuses = detail::refuse_unless_values,
          .smaller_is_better = true};
}

/// The root of the mean of (y - t)^2 over samples and outputs.
[[nodiscard]] inline metric rmse() {
  return {.name = "rmse",
          .add =
              [](auto y, const sample_target& t, auto sums) {
                double sum = 0;
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const double error = y[i] - t.value(i, y.size());
                  sum += error * error;
                }
                sums[0] += sum / static_cast<double>(y.size());
              },
          .finish = [](auto sums, double samples) { return std::sqrt(sums[0] / samples); },
          .refuses = detail::refuse_unless_values,
          .smaller_is_better = true};
}

/// The coefficient of determination, 1 - sum (y - t)^2 / sum (t - mean of t)^2 over samples and
/// outputs: 1 for outputs that are the targets, 0 for their mean, NaN where targets are all alike.
[[nodiscard]] inline metric r_squared() {
  enum { errors, count, mean, spread };
  return {.name = "r_squared",
          .sums = 4,
          .add =
              [](auto y, const sample_target& t, auto sums) {
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const double value = t.value(i, y.size());
                  sums[errors] += (y[i] - value) * (y[i] - value);
                  // Welford, Technometrics 1962: digits are not lost to a mean that is large.
                  const double off = value - sums[mean];
                  sums[mean] += off / ++sums[count];
                  sums[spread] += off * (value - sums[mean]);
                }
              },
          .finish =
              [](auto sums, double) {
                return sums[spread] > 0 ? 1 - sums[errors] / sums[spread]
                                        : std::numeric_limits<double>::quiet_NaN();
              },
          .refuses = detail::refuse_unless_values};
}

}  // namespace glia
