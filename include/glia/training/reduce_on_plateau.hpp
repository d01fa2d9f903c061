#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "glia/core/error.hpp"
#include "glia/training/observer.hpp"
#include "glia/training/watched_score.hpp"

namespace glia {

/// An observer that lowers the learning rate once a score has not got better for some epochs: it
/// multiplies what the optimizer's schedule gives by a factor, from then on. As Keras's
/// ReduceLROnPlateau.
struct reduce_on_plateau {
  std::string score = "validation_loss";  ///< or "loss" of the training, "validation_accuracy", ...
  double factor = 0.1;                    ///< in (0, 1)
  std::size_t patience = 10;              ///< epochs without a better score, at least 1
  /// Length of the cooldown after each reduction. As in Keras, the epoch in which it ends already
  /// counts, so cooldown - 1 epochs are ignored.
  std::size_t cooldown = 0;
  double least_change = 1e-4;  ///< by how much a score must be better than the best one to count
  double least_rate = 0;       ///< below which the rate is not lowered

  void operator()(const training& t) const {
    if (t.at == moment::begins) {
      require<value_error>(
          factor > 0 && factor < 1 && patience > 0 && least_change >= 0 &&
              std::isfinite(least_change) && least_rate >= 0,
          "reduce_on_plateau: expected a factor in (0, 1), a patience of at least 1 epoch, and a "
          "finite least change and rate of at least 0, got ",
          factor, ", ", patience, ", ", least_change, " and ", least_rate);
      (void)smaller_is_better(t.result.metrics, score);
    }
    if (t.at == moment::epoch && due(t.result)) {
      const double rate = t.result.epochs.back().learning_rate;
      const double wanted = std::max(rate * factor, least_rate);
      if (wanted < rate) {
        t.scale_rate(wanted / rate);
        t.note(text("learning rate ", rate, " lowered to ", wanted, " after epoch ", t.epoch));
      }
    }
  }

 private:
  /// Whether the last epoch is one after which the rate falls. Goes through all of them, so that
  /// nothing but the history need be remembered.
  [[nodiscard]] bool due(const history& h) const {
    const double sign = smaller_is_better(h.metrics, score) ? 1 : -1;
    double best = std::numeric_limits<double>::infinity();
    std::size_t waited = 0;
    std::size_t cooling = 0;
    bool falls = false;
    for (const epoch_record& e : h.epochs) {
      const double value = sign * score_of(e, score);
      const bool better = value < best - least_change;
      if (better) {
        best = value;
      }
      // As in Keras, the epoch in which the cooldown ends counts already.
      cooling -= std::min<std::size_t>(cooling, 1);
      waited = cooling == 0 && !better ? waited + 1 : 0;
      falls = waited >= patience;
      if (falls) {
        waited = 0;
        cooling = cooldown;
      }
    }
    return falls;
  }
};

}  // namespace glia
