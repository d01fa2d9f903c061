#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/xtensor.hpp"

namespace glia {

/// A misclassified sample.
struct mistake {
  std::size_t sample = 0;        ///< Index of the sample.
  std::size_t truth = 0;         ///< True class.
  std::size_t predicted = 0;     ///< Predicted class.
  double probability = 0;        ///< Probability of the predicted class.
  double truth_probability = 0;  ///< Probability of the true class.
  double loss = 0;               ///< Loss, -ln(truth_probability).
};

/// The result of `worst_mistakes`.
struct mistakes_found {
  std::vector<mistake> worst;  ///< Worst mistakes: highest loss first, equal losses by index.
  std::size_t wrong = 0;       ///< Number of all mistakes.
  std::size_t samples = 0;     ///< Number of all samples.
};

namespace detail {

/// Returns the logarithm of the probability of each class, from the outputs of one sample.
[[nodiscard]] inline std::vector<double> log_probabilities(std::span<const float> outputs,
                                                           output_kind gives) {
  std::vector<double> logs(outputs.begin(), outputs.end());
  if (logs.size() == 1) {
    const double y = logs[0];
    const auto softplus = [](double v) {
      return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v)));
    };
    return gives == output_kind::other ? std::vector{-softplus(y), -softplus(-y)}
                                       : std::vector{std::log1p(-y), std::log(y)};
  }
  if (gives != output_kind::other) {
    std::transform(logs.begin(), logs.end(), logs.begin(), [](double p) { return std::log(p); });
    return logs;
  }
  const double highest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (double& y : logs) {
    y = y == highest ? 0 : y - highest;  // infinity - infinity would be NaN
    sum += std::exp(y);
  }
  for (double& y : logs) {
    y -= std::log(sum);
  }
  return logs;
}

}  // namespace detail

/// Finds the misclassified samples with the highest cross-entropy loss, from a model's outputs
/// (N, K) and the true classes (N). Returns up to `max_mistakes` of them, and the number of all
/// mistakes.
///
/// Outputs are logits, or probabilities if `gives` is softmax or sigmoid. If K is 1, there are two
/// classes, and the output belongs to class 1.
///
/// Throws `shape_error` unless the outputs have the shape (N, K) for N true classes. Throws
/// `data_error` if a true class is not below the number of classes, or if an output is NaN.
[[nodiscard]] inline mistakes_found worst_mistakes(const xt::xarray<float>& outputs,
                                                   std::span<const std::int32_t> truth,
                                                   std::size_t max_mistakes,
                                                   output_kind gives = output_kind::other) {
  require<shape_error>(
      outputs.dimension() == 2 && outputs.shape()[0] == truth.size() && outputs.shape()[1] > 0,
      "worst_mistakes: expected outputs (", truth.size(), ", K) for ", truth.size(),
      " class labels");
  const std::size_t width = outputs.shape()[1];
  const std::size_t classes = std::max<std::size_t>(width, 2);
  mistakes_found found{.worst = {}, .samples = truth.size()};
  for (std::size_t n = 0; n < truth.size(); ++n) {
    const std::span<const float> row(outputs.data() + n * width, width);
    const auto label = static_cast<std::size_t>(truth[n]);
    require<data_error>(label < classes, "worst_mistakes: sample ", n, " has the class ", truth[n],
                        ", but there are outputs for ", classes, " classes; classes count from 0");
    require<data_error>(std::none_of(row.begin(), row.end(), [](float y) { return std::isnan(y); }),
                        "worst_mistakes: an output of sample ", n, " is not a number (NaN)");
    const std::vector<double> logs = detail::log_probabilities(row, gives);
    const auto predicted =
        static_cast<std::size_t>(std::max_element(logs.begin(), logs.end()) - logs.begin());
    if (predicted != label) {
      found.worst.push_back({.sample = n,
                             .truth = label,
                             .predicted = predicted,
                             .probability = std::exp(logs[predicted]),
                             .truth_probability = std::exp(logs[label]),
                             .loss = -logs[label]});
    }
  }
  found.wrong = found.worst.size();
  std::stable_sort(found.worst.begin(), found.worst.end(),
                   [](const mistake& a, const mistake& b) { return a.loss > b.loss; });
  found.worst.resize(std::min(found.wrong, max_mistakes));
  return found;
}

}  // namespace glia
