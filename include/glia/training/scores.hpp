#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// The mean loss and the metrics of a model over a set of samples.
struct scores {
  double loss = 0;                             ///< Mean loss.
  std::vector<double> metric_values = {};      ///< Values of the metrics, in the requested order.
  std::vector<std::string> metric_names = {};  ///< Names of the metrics, in the same order.

  friend bool operator==(const scores&, const scores&) = default;

  /// The loss, by the name "loss", or a metric, by its name. Throws `value_error` for an unknown
  /// name.
  [[nodiscard]] double operator[](std::string_view name) const {
    if (name == "loss") {
      return loss;
    }
    const auto found = std::find(metric_names.begin(), metric_names.end(), name);
    if (found == metric_names.end()) {
      std::string known = "loss";
      for (const std::string& metric_name : metric_names) {
        known += ", " + metric_name;
      }
      throw value_error(text("scores: there is no score '", name, "'; the scores are: ", known));
    }
    return metric_values[static_cast<std::size_t>(found - metric_names.begin())];
  }
};

}  // namespace glia
