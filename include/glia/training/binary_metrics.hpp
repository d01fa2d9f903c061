#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/training/metric.hpp"

/// Metrics of two classes, of which class 1 is the one to be found. Models have one output, or two
/// of which the higher one is the class; samples have classes, not values.

namespace glia {

namespace detail {

/// Whether a sample is taken for class 1: an output that is not a number is not.
[[nodiscard]] inline bool taken_for_one(std::span<const float> y, const sample_target& t) {
  return y.size() == 1 ? y[0] > t.border : y[1] > y[0];
}

/// See metric::refuses.
[[nodiscard]] inline std::string refuse_unless_binary(const measured_outputs& of) {
  if (of.output.size() > 2) {
    return text("expected a model with one output or two, for the classes 0 and 1, got ",
                of.output);
  }
  return !of.values
             ? ""
             : "expected samples with classes, the data have values; give those that are 0 and "
               "1 as classes, as by glia::labelled_arrays";
}

/// The area under the curve of `pairs`, each a sample's score and class. Takes time n log n.
[[nodiscard]] inline double area_under_curve(std::span<const double> pairs) {
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
  // Whole numbers and halves, which double holds exactly.
  double below = 0;
  double ones = 0;
  double wins = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    double equal_ones = 0;
    double equal_zeros = 0;
    const double score = sorted[i].score;
    for (; i < sorted.size() && sorted[i].score == score; ++i) {
      (sorted[i].is_one ? equal_ones : equal_zeros) += 1;
    }
    wins += equal_ones * (below + equal_zeros / 2);
    below += equal_zeros;
    ones += equal_ones;
  }
  return wins / (ones * below);
}

}  // namespace detail

/// Of the samples taken for class 1, the share that is; 0 where there are none.
[[nodiscard]] inline metric precision() {
  enum { right, taken };
  return {
      .name = "precision",
      .sums = 2,
      .add =
          [](auto y, const sample_target& t, auto sums) {
            if (detail::taken_for_one(y, t)) {
              sums[right] += t.label == 1 ? 1 : 0;
              sums[taken] += 1;
            }
          },
      .finish = [](auto sums, double) { return sums[taken] > 0 ? sums[right] / sums[taken] : 0; },
      .refuses = detail::refuse_unless_binary};
}

/// Of the samples of class 1, the share taken for it; 0 where there are none.
[[nodiscard]] inline metric recall() {
  enum { right, there };
  return {
      .name = "recall",
      .sums = 2,
      .add =
          [](auto y, const sample_target& t, auto sums) {
            if (t.label == 1) {
              sums[right] += detail::taken_for_one(y, t) ? 1 : 0;
              sums[there] += 1;
            }
          },
      .finish = [](auto sums, double) { return sums[there] > 0 ? sums[right] / sums[there] : 0; },
      .refuses = detail::refuse_unless_binary};
}

/// The harmonic mean of precision and recall, 2 P R / (P + R); 0 where both are.
[[nodiscard]] inline metric f1() {
  enum { right, either };
  return {.name = "f1",
          .sums = 2,
          .add =
              [](auto y, const sample_target& t, auto sums) {
                const bool taken = detail::taken_for_one(y, t);
                const bool there = t.label == 1;
                sums[right] += taken && there ? 1 : 0;
                sums[either] += (taken ? 1 : 0) + (there ? 1 : 0);
              },
          .finish = [](auto sums,
                       double) { return sums[either] > 0 ? 2 * sums[right] / sums[either] : 0; },
          .refuses = detail::refuse_unless_binary};
}

/// The area under the curve of recall against the share of class 0 taken for class 1, exactly: the
/// share of pairs of a sample of each class in which that of class 1 has the higher score, ties
/// counting half. A sample's score is its output or, of two, by how much that of class 1 is higher.
/// NaN where one of the classes is missing or a score is not a number. Keeps 16 bytes a sample.
///
/// Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic
/// (ROC) curve", Radiology 143, 1982; the pairs are Mann and Whitney's.
[[nodiscard]] inline metric auc() {
  return {.name = "auc",
          .sums = 2,
          .per_sample = true,
          .add =
              [](auto y, const sample_target& t, auto sums) {
                sums[0] = y.size() == 1 ? y[0] : static_cast<double>(y[1]) - y[0];
                sums[1] = t.label;
              },
          .finish = [](auto sums, double) { return detail::area_under_curve(sums); },
          .refuses = detail::refuse_unless_binary};
}

}  // namespace glia
