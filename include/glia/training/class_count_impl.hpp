#pragma once

#include <cmath>
#include <span>

#include "glia/core/inline.hpp"
#include "glia/training/class_count.hpp"

namespace glia {

namespace detail {

/// Returns the sums of the counts of all classes.
GLIA_INLINE class_count sum_of(std::span<const class_count> counts) {
  class_count sum;
  for (const class_count& count : counts) {
    sum.true_positives += count.true_positives;
    sum.predictions += count.predictions;
    sum.samples += count.samples;
  }
  return sum;
}

}  // namespace detail

GLIA_INLINE double average(std::span<const class_count> counts, averaging kind, class_score score,
                           bool include_empty) {
  const class_count sum = detail::sum_of(counts);
  double scores = 0;
  double weighted_scores = 0;
  double classes = 0;
  for (const class_count& count : counts) {
    scores += (count.*score)();
    weighted_scores += count.samples * (count.*score)();
    classes += include_empty || count.samples > 0 || count.predictions > 0 ? 1 : 0;
  }
  switch (kind) {
    case averaging::micro:
      return (sum.*score)();
    case averaging::weighted:
      return sum.samples > 0 ? weighted_scores / sum.samples : 0;
    case averaging::macro:
      break;
  }
  return classes > 0 ? scores / classes : 0;
}

GLIA_INLINE double balanced_accuracy(std::span<const class_count> counts) {
  double recalls = 0;
  double classes = 0;
  for (const class_count& count : counts) {
    recalls += count.recall();
    classes += count.samples > 0 ? 1 : 0;
  }
  return classes > 0 ? recalls / classes : 0;
}

GLIA_INLINE double matthews_correlation(std::span<const class_count> counts) {
  const class_count sum = detail::sum_of(counts);
  double products = 0;
  double squared_predictions = 0;
  double squared_samples = 0;
  for (const class_count& count : counts) {
    products += count.predictions * count.samples;
    squared_predictions += count.predictions * count.predictions;
    squared_samples += count.samples * count.samples;
  }
  const double square = sum.samples * sum.samples;
  const double spread = (square - squared_predictions) * (square - squared_samples);
  return spread > 0 ? (sum.true_positives * sum.samples - products) / std::sqrt(spread) : 0;
}

}  // namespace glia
