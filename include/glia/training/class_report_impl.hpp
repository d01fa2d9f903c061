#pragma once

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
#include "glia/training/class_report.hpp"

namespace glia {

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
      counts[k].true_positives += predicted && target == 1 ? 1 : 0;
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
