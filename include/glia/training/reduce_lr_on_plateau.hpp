#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "glia/core/error.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/watched_score.hpp"

namespace glia {

/// A callback that lowers the learning rate when a score has not improved for `patience` epochs.
///
///     trainer.fit(train, test, {.epochs = 100, .callbacks = {glia::reduce_lr_on_plateau{}}});
///
/// From then on, the learning rate of the optimizer or of its schedule is multiplied by `factor`.
/// The learning rate can be lowered several times. The defaults and the behavior are the same as in
/// Keras's `ReduceLROnPlateau`. The metric defines whether larger or smaller values are better.
///
/// `fit` throws `value_error` if `monitor` is not a score of the training or if an option is out of
/// its range.
struct reduce_lr_on_plateau {
  /// Name of the score, such as "validation_loss", "loss" (of the training) or
  /// "validation_accuracy".
  std::string monitor = "validation_loss";
  double factor = 0.1;  ///< Factor of the learning rate, in (0, 1).
  /// Number of epochs without improvement after which the rate is reduced, at least 1.
  std::size_t patience = 10;
  /// Length of the cooldown after each reduction, in epochs. Epochs in the cooldown do not count as
  /// epochs without improvement. As in Keras, the last epoch of the cooldown already counts, so
  /// cooldown - 1 epochs are ignored.
  std::size_t cooldown = 0;
  double min_delta = 1e-4;  ///< A better score must improve by more than this; at least 0.
  double min_lr = 0;        ///< Lower bound of the learning rate, at least 0.

  void operator()(const training& t) const {
    if (t.event == event::train_begin) {
      require<value_error>(factor > 0 && factor < 1 && patience > 0 && min_delta >= 0 &&
                               std::isfinite(min_delta) && min_lr >= 0,
                           "reduce_lr_on_plateau: expected a factor in (0, 1), a patience of at "
                           "least 1 epoch, a finite min_delta of at least 0 and a min_lr of at "
                           "least 0, got ",
                           factor, ", ", patience, ", ", min_delta, " and ", min_lr);
      (void)smaller_is_better(t.history.metrics, monitor);
    }
    if (t.event == event::epoch_end && due(t.history)) {
      const double rate = t.history.epochs.back().learning_rate;
      const double new_rate = std::max(rate * factor, min_lr);
      if (new_rate < rate) {
        t.scale_learning_rate(new_rate / rate);
        t.add_note(
            text("learning rate ", rate, " lowered to ", new_rate, " after epoch ", t.epoch));
      }
    }
  }

 private:
  /// Whether the learning rate is lowered after the last epoch. Goes through all epochs of the
  /// history, so that the callback needs no state.
  [[nodiscard]] bool due(const history& h) const {
    const double sign = smaller_is_better(h.metrics, monitor) ? 1 : -1;
    double best = std::numeric_limits<double>::infinity();
    std::size_t waited = 0;
    std::size_t cooling = 0;
    bool falls = false;
    for (const epoch_record& e : h.epochs) {
      const double value = sign * detail::score_of(e, monitor);
      const bool better = value < best - min_delta;
      if (better) {
        best = value;
      }
      // As in Keras, the epoch in which the cooldown ends already counts.
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
