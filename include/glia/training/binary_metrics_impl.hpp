#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/shape.hpp"
#include "glia/training/binary_metrics.hpp"
#include "glia/training/metric.hpp"

namespace glia {

namespace detail {

/// Whether class 1 is predicted for a sample. A NaN output does not predict class 1.
GLIA_INLINE bool taken_for_one(std::span<const float> y, const sample_target& t) {
  return y.size() == 1 ? y[0] > t.threshold : y[1] > y[0];
}

/// Returns why the metric does not fit these outputs and targets, or an empty text if it fits; see
/// metric::unsupported_reason.
GLIA_INLINE std::string refuse_unless_binary(const measured_outputs& measured) {
  if (measured.output.size() > 2) {
    return text("expected a model with one output or two outputs, for the classes 0 and 1, got ",
                "outputs of shape ", measured.output);
  }
  return !measured.values
             ? ""
             : "expected samples with class labels, got real-valued targets; if the targets are 0 "
               "and 1, pass them as labels, for example with glia::labeled_arrays";
}

/// Returns the area under the ROC curve. `pairs` contains the score and the class of each of n
/// samples, one sample after the other. Takes O(n log n) time.
GLIA_INLINE double area_under_curve(std::span<const double> pairs) {
  struct sample {
    double score;
    bool is_one;
  };
  std::vector<sample> sorted;
  sorted.reserve(pairs.size() / 2);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (std::isnan(pairs[i])) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    sorted.push_back({pairs[i], pairs[i + 1] == 1});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const sample& a, const sample& b) { return a.score < b.score; });
  // These sums are multiples of 0.5, which double represents exactly.
  double negatives = 0;
  double positives = 0;
  double wins = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    double equal_positives = 0;
    double equal_negatives = 0;
    const double score = sorted[i].score;
    for (; i < sorted.size() && sorted[i].score == score; ++i) {
      (sorted[i].is_one ? equal_positives : equal_negatives) += 1;
    }
    wins += equal_positives * (negatives + equal_negatives / 2);
    negatives += equal_negatives;
    positives += equal_positives;
  }
  return wins / (positives * negatives);
}

}  // namespace detail

GLIA_INLINE metric precision() {
  enum { right, predictions };
  return {
      .name = "precision",
      .state_size = 2,
      .update_state =
          [](auto y, const sample_target& t, auto sums) {
            if (detail::taken_for_one(y, t)) {
              sums[right] += t.label == 1 ? 1 : 0;
              sums[predictions] += 1;
            }
          },
      .result = [](auto sums,
                   double) { return sums[predictions] > 0 ? sums[right] / sums[predictions] : 0; },
      .unsupported_reason = detail::refuse_unless_binary};
}

GLIA_INLINE metric recall() {
  enum { right, positives };
  return {.name = "recall",
          .state_size = 2,
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                if (t.label == 1) {
                  sums[right] += detail::taken_for_one(y, t) ? 1 : 0;
                  sums[positives] += 1;
                }
              },
          .result = [](auto sums,
                       double) { return sums[positives] > 0 ? sums[right] / sums[positives] : 0; },
          .unsupported_reason = detail::refuse_unless_binary};
}

GLIA_INLINE metric f1_score() {
  enum { right, either };
  return {.name = "f1_score",
          .state_size = 2,
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                const bool predicted = detail::taken_for_one(y, t);
                const bool positive = t.label == 1;
                sums[right] += predicted && positive ? 1 : 0;
                sums[either] += (predicted ? 1 : 0) + (positive ? 1 : 0);
              },
          .result = [](auto sums,
                       double) { return sums[either] > 0 ? 2 * sums[right] / sums[either] : 0; },
          .unsupported_reason = detail::refuse_unless_binary};
}

GLIA_INLINE metric auc() {
  return {.name = "auc",
          .state_size = 2,
          .per_sample = true,
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                sums[0] = y.size() == 1 ? y[0] : static_cast<double>(y[1]) - y[0];
                sums[1] = t.label;
              },
          .result = [](auto sums, double) { return detail::area_under_curve(sums); },
          .unsupported_reason = detail::refuse_unless_binary};
}

}  // namespace glia
