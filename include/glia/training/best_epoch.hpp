#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

#include "glia/training/history.hpp"
#include "glia/training/watched_score.hpp"

namespace glia::detail {

/// The best epoch of a training by a score.
struct best_epoch {
  std::size_t epoch = 0;         ///< Number of the epoch, from 1; 0 if no epoch is best yet.
  double score = 0;              ///< Score of the epoch.
  std::size_t epochs_since = 0;  ///< Number of epochs since then, without improvement.
};

/// Finds the best epoch of a history. An epoch is better if it improves the best score by more than
/// `min_delta`; NaN is never better. Callbacks use only the history, so that a resumed training
/// behaves as if it had not been interrupted.
[[nodiscard]] inline best_epoch best_of(const history& h, std::string_view score,
                                        double min_delta = 0) {
  const double sign = smaller_is_better(h.metrics, score) ? 1 : -1;
  best_epoch best;
  double minimum = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < h.epochs.size(); ++i) {
    const double value = score_of(h.epochs[i], score);
    if (sign * value < minimum - min_delta) {
      minimum = sign * value;
      best = {i + 1, value, 0};
    } else {
      ++best.epochs_since;
    }
  }
  return best;
}

}  // namespace glia::detail
