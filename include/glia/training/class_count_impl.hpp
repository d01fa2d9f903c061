#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/number_text.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/text_table.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/training/class_count.hpp"

namespace glia {

GLIA_INLINE double average(std::span<const class_count> counts, averaging kind, class_score score,
                           bool include_empty) {
  class_count sum;
  double scores = 0;
  double weighted_scores = 0;
  double classes = 0;
  for (const class_count& count : counts) {
    sum.right += count.right;
    sum.predictions += count.predictions;
    sum.samples += count.samples;
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
  class_count sum;
  double products = 0;
  double squared_predictions = 0;
  double squared_samples = 0;
  for (const class_count& count : counts) {
    sum.right += count.right;
    sum.samples += count.samples;
    products += count.predictions * count.samples;
    squared_predictions += count.predictions * count.predictions;
    squared_samples += count.samples * count.samples;
  }
  const double square = sum.samples * sum.samples;
  const double spread = (square - squared_predictions) * (square - squared_samples);
  return spread > 0 ? (sum.right * sum.samples - products) / std::sqrt(spread) : 0;
}

GLIA_INLINE std::vector<class_count> label_counts(const xt::xarray<float>& outputs,
                                                  const xt::xarray<float>& targets,
                                                  double threshold) {
  const auto shape_of = [](const xt::xarray<float>& x) {
    return shape(x.shape().begin(), x.shape().end());
  };
  require<shape_error>(outputs.dimension() == 2 && shape_of(outputs) == shape_of(targets),
                       "label_counts: expected outputs and targets of the same shape (N, K), got ",
                       shape_of(outputs), " and ", shape_of(targets));
  std::vector<class_count> counts(outputs.shape()[1]);
  for (std::size_t n = 0; n < outputs.shape()[0]; ++n) {
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const float target = targets(n, k);
      require<data_error>(target == 0 || target == 1, "label_counts: expected targets of 0 and 1, ",
                          "but target ", k, " of sample ", n, " is ", target);
      const bool predicted = outputs(n, k) > threshold;
      counts[k].right += predicted && target == 1 ? 1 : 0;
      counts[k].predictions += predicted ? 1 : 0;
      counts[k].samples += target;
    }
  }
  return counts;
}

GLIA_INLINE std::string class_report(std::span<const class_count> counts,
                                     std::span<const std::string> names, bool include_empty) {
  require<value_error>(names.size() == counts.size(), "class_report: expected ", counts.size(),
                       " names, got ", names.size());
  constexpr class_score scores[] = {&class_count::precision, &class_count::recall,
                                    &class_count::f1_score};
  std::vector<std::vector<std::string>> rows{{"", "precision", "recall", "F1 score", "samples"}};
  double samples = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    rows.push_back({names[k]});
    for (const class_score score : scores) {
      rows.back().push_back(fixed_text((counts[k].*score)(), 3));
    }
    rows.back().push_back(digits_text(counts[k].samples, 12));
    samples += counts[k].samples;
  }
  for (const averaging kind : {averaging::micro, averaging::macro, averaging::weighted}) {
    rows.push_back({std::string(name_of(kind)) + " average"});
    for (const class_score score : scores) {
      rows.back().push_back(fixed_text(average(counts, kind, score, include_empty), 3));
    }
    rows.back().push_back(digits_text(samples, 12));
  }
  return text_table(rows);
}

}  // namespace glia
