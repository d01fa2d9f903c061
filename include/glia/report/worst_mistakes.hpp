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

/// A sample that was taken for another class than its own.
struct mistake {
  std::size_t sample = 0;
  std::size_t truth = 0;         ///< its class
  std::size_t predicted = 0;     ///< the class that it was taken for
  double probability = 0;        ///< of the class that it was taken for
  double truth_probability = 0;  ///< of its class
  double loss = 0;               ///< -ln of the latter
};

/// What a model's predictions of a data set come to.
struct mistakes_found {
  std::vector<mistake> worst;  ///< by falling loss, then by their samples' numbers
  std::size_t wrong = 0;       ///< all of them
  std::size_t samples = 0;
};

namespace detail {

/// The logarithms of the classes' probabilities for one sample's outputs.
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
    y = y == highest ? 0 : y - highest;  // infinity less infinity is no number
    sum += std::exp(y);
  }
  for (double& y : logs) {
    y -= std::log(sum);
  }
  return logs;
}

}  // namespace detail

/// The mistakes with the highest cross-entropy, at most `most` of them, by a model's outputs (N, K)
/// and the samples' classes (N). Outputs are logits, or what `gives` says; a single one, K = 1, is
/// that of class 1 of two.
///
/// Throws `shape_error` where their numbers disagree, `data_error` for classes beyond K and for
/// outputs that are not numbers.
[[nodiscard]] inline mistakes_found worst_mistakes(const xt::xarray<float>& outputs,
                                                   std::span<const std::int32_t> truth,
                                                   std::size_t most,
                                                   output_kind gives = output_kind::other) {
  require<shape_error>(
      outputs.dimension() == 2 && outputs.shape()[0] == truth.size() && outputs.shape()[1] > 0,
      "worst_mistakes: expected outputs (", truth.size(), ", K) for ", truth.size(), " classes");
  const std::size_t width = outputs.shape()[1];
  const std::size_t classes = std::max<std::size_t>(width, 2);
  mistakes_found found{.worst = {}, .samples = truth.size()};
  for (std::size_t n = 0; n < truth.size(); ++n) {
    const std::span<const float> row(outputs.data() + n * width, width);
    const auto label = static_cast<std::size_t>(truth[n]);
    require<data_error>(label < classes, "worst_mistakes: sample ", n, " is of class ", truth[n],
                        ", the outputs know ", classes);
    require<data_error>(std::none_of(row.begin(), row.end(), [](float y) { return std::isnan(y); }),
                        "worst_mistakes: the outputs of sample ", n, " are not numbers");
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
  found.worst.resize(std::min(found.wrong, most));
  return found;
}

}  // namespace glia
