#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// Loss and metrics over samples.
struct scores {
  double loss = 0;
  std::vector<double> metrics = {};     ///< in the order in which they were asked for
  std::vector<std::string> names = {};  ///< of the metrics

  friend bool operator==(const scores&, const scores&) = default;

  /// The loss by its name, "loss", or a metric by its own. Throws `value_error` for another name.
  [[nodiscard]] double operator[](std::string_view name) const {
    if (name == "loss") {
      return loss;
    }
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      std::string known = "loss";
      for (const std::string& one : names) {
        known += ", " + one;
      }
      throw value_error(text("scores: nothing is called '", name, "'; there are: ", known));
    }
    return metrics[static_cast<std::size_t>(at - names.begin())];
  }
};

}  // namespace glia
