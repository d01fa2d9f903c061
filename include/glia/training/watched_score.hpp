#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/training/history.hpp"

namespace glia {

namespace detail {

/// The name of a score, split into the metric and the optional prefix "validation_".
struct watched_name {
  explicit watched_name(std::string_view name) : metric(name) {
    constexpr std::string_view prefix = "validation_";
    of_validation = name.starts_with(prefix);
    metric.remove_prefix(of_validation ? prefix.size() : 0);
  }

  bool of_validation = false;
  std::string_view metric;
};

/// The score of an epoch by its name, such as "loss", "accuracy" or "validation_loss". Throws
/// `value_error` for an unknown name, or if the epoch was not validated.
[[nodiscard]] inline double score_of(const epoch_record& e, std::string_view name) {
  const detail::watched_name watched(name);
  if (!watched.of_validation) {
    return e.training[name];
  }
  require<value_error>(e.validation.has_value(), "there is no score '", name,
                       "', because fit has no validation data; pass validation data to fit, or use "
                       "a score of the training, such as 'loss'");
  return (*e.validation)[watched.metric];
}

}  // namespace detail

/// Whether smaller values of a score are better. Throws `value_error` for an unknown name.
[[nodiscard]] inline bool smaller_is_better(std::span<const metric> metrics,
                                            std::string_view name) {
  const std::string_view watched = detail::watched_name(name).metric;
  if (watched == "loss") {
    return true;
  }
  const auto found = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const metric& m) { return m.name == watched; });
  if (found == metrics.end()) {
    std::string known = "loss, validation_loss";
    for (const metric& m : metrics) {
      known += ", " + m.name + ", validation_" + m.name;
    }
    throw value_error(text("there is no score '", name, "'; the scores are: ", known,
                           "; request other metrics with fit_options::metrics"));
  }
  return found->smaller_is_better;
}

}  // namespace glia
