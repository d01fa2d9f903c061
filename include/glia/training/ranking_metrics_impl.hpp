#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/shape.hpp"
#include "glia/training/metric.hpp"
#include "glia/training/ranking_metrics.hpp"

namespace glia {

namespace detail {

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

/// The samples that have the same score: the sums of the weights of class 1 and of class 0.
struct equal_scores {
  double score;
  double positives = 0;
  double negatives = 0;
};

/// Returns the scores of n samples in increasing order, or nothing if a score is NaN. `samples`
/// contains the score, the class and the weight of each sample, one sample after the other. Takes
/// O(n log n) time.
GLIA_INLINE std::optional<std::vector<equal_scores>> sorted_scores(
    std::span<const double> samples) {
  std::vector<equal_scores> sorted;
  sorted.reserve(samples.size() / 3);
  for (std::size_t i = 0; i + 2 < samples.size(); i += 3) {
    if (samples[i + 2] == 0) {
      continue;
    }
    if (std::isnan(samples[i])) {
      return std::nullopt;
    }
    const bool positive = samples[i + 1] == 1;
    sorted.push_back({samples[i], positive ? samples[i + 2] : 0, positive ? 0 : samples[i + 2]});
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.score < b.score; });
  std::vector<equal_scores> result;
  for (const equal_scores& sample : sorted) {
    if (result.empty() || result.back().score != sample.score) {
      result.push_back({sample.score});
    }
    result.back().positives += sample.positives;
    result.back().negatives += sample.negatives;
  }
  return result;
}

/// Returns the area under the ROC curve.
GLIA_INLINE double area_under_curve(std::span<const equal_scores> sorted) {
  // Without weights, these sums are multiples of 0.5, which double represents exactly.
  double negatives = 0;
  double positives = 0;
  double wins = 0;
  for (const equal_scores& equal : sorted) {
    wins += equal.positives * (negatives + equal.negatives / 2);
    negatives += equal.negatives;
    positives += equal.positives;
  }
  return wins / (positives * negatives);
}

/// Returns the average precision.
GLIA_INLINE double average_of_precisions(std::span<const equal_scores> sorted) {
  double predictions = 0;
  double positives = 0;
  double sum = 0;
  for (std::size_t i = sorted.size(); i-- > 0;) {
    predictions += sorted[i].positives + sorted[i].negatives;
    positives += sorted[i].positives;
    sum += sorted[i].positives * positives / predictions;
  }
  return positives > 0 ? sum / positives : 0;
}

/// A metric computed from the sorted scores of all samples. It is NaN if a score is NaN.
GLIA_INLINE metric ranking_metric(std::string name,
                                  double (*result)(std::span<const equal_scores>)) {
  return {.name = std::move(name),
          .state_size = 3,
          .per_sample = true,
          .reads_weight = true,
          .update_state =
              [](auto y, const sample_target& t, auto sums) {
                sums[0] = y.size() == 1 ? y[0] : static_cast<double>(y[1]) - y[0];
                sums[1] = t.label;
                sums[2] = t.weight;
              },
          .result =
              [result](auto sums, double) {
                const auto sorted = sorted_scores(sums);
                return sorted ? result(*sorted) : std::numeric_limits<double>::quiet_NaN();
              },
          .unsupported_reason = refuse_unless_binary};
}

}  // namespace detail

GLIA_INLINE metric auc() { return detail::ranking_metric("auc", detail::area_under_curve); }

GLIA_INLINE metric average_precision() {
  return detail::ranking_metric("average_precision", detail::average_of_precisions);
}

}  // namespace glia
