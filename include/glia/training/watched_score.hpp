#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/training/history.hpp"

namespace glia {

namespace detail {

/// A score's name, taken apart.
struct watched_name {
  explicit watched_name(std::string_view name) : metric(name) {
    constexpr std::string_view prefix = "validation_";
    of_validation = name.starts_with(prefix);
    metric.remove_prefix(of_validation ? prefix.size() : 0);
  }

  bool of_validation = false;
  std::string_view metric;
};

}  // namespace detail

/// The score of an epoch by its name: "loss", "accuracy", or of the validation, "validation_loss".
/// Throws `value_error` for another name, and where there was no validation.
[[nodiscard]] inline double score_of(const epoch_record& e, std::string_view name) {
  const detail::watched_name watched(name);
  if (!watched.of_validation) {
    return e.training[name];
  }
  require<value_error>(e.validation.has_value(), "'", name,
                       "' was asked for, and there is no validation; give fit validation data, or "
                       "name a score of the training, as 'loss'");
  return (*e.validation)[watched.metric];
}

/// Whether smaller values of the score of this name are better. Throws `value_error` where no
/// metric is called so.
[[nodiscard]] inline bool smaller_is_better(std::span<const metric> metrics,
                                            std::string_view name) {
  const std::string_view watched = detail::watched_name(name).metric;
  if (watched == "loss") {
    return true;
  }
  const auto at = std::find_if(metrics.begin(), metrics.end(),
                               [&](const metric& m) { return m.name == watched; });
  if (at == metrics.end()) {
    std::string there = "loss, validation_loss";
    for (const metric& m : metrics) {
      there += ", " + m.name + ", validation_" + m.name;
    }
    throw value_error(text("no score is called '", name, "'; there are: ", there,
                           "; others must be asked for by fit_options::metrics"));
  }
  return at->smaller_is_better;
}

/// The best epoch so far by a score.
struct best_epoch {
  std::size_t epoch = 0;  ///< from 1; 0 before there is one
  double score = 0;
  std::size_t since = 0;  ///< epochs after it, none of which was better by more than the change
};

/// Looks through the epochs of a history, which is all that those who watch a score need to know,
/// so that a training that is gone on with is watched as if it had not been interrupted. A score
/// that is not a number is never better.
[[nodiscard]] inline best_epoch best_of(const history& h, std::string_view score,
                                        double least_change = 0) {
  const double sign = smaller_is_better(h.metrics, score) ? 1 : -1;
  best_epoch best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < h.epochs.size(); ++i) {
    const double value = score_of(h.epochs[i], score);
    if (sign * value < least - least_change) {
      least = sign * value;
      best = {i + 1, value, 0};
    } else {
      ++best.since;
    }
  }
  return best;
}

}  // namespace glia
