#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/training/best_epoch.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/watched_score.hpp"

namespace glia {

/// A callback that stops the training when a score has not improved for `patience` epochs.
///
///     const glia::early_stopping stopping{.patience = 5};
///     trainer.fit(train, test, {.epochs = 100, .callbacks = {stopping}});
///
/// When the training ends, the model gets the parameters of the best epoch, even if this callback
/// did not stop the training. An interrupted training keeps its current parameters, so that it can
/// be resumed.
///
/// Keras's `EarlyStopping` has a patience of 0 and does not restore the best weights by default.
/// The metric defines whether larger or smaller values are better, so there is no `mode`.
///
/// `fit` throws `value_error` if `monitor` is not a score of the training, if `patience` is 0, or
/// if `min_delta` is negative or not finite.
///
/// Source: Prechelt, "Early stopping - but when?", Neural Networks: Tricks of the Trade, 1998.
struct early_stopping {
  /// Name of the score, such as "validation_loss", "loss" (of the training) or
  /// "validation_accuracy".
  std::string monitor = "validation_loss";
  /// Number of epochs without improvement after which the training stops, at least 1.
  std::size_t patience = 5;
  double min_delta = 0;  ///< A better score must improve by more than this; at least 0.
  /// Whether the model gets the parameters of the best epoch at the end. Needs a copy of the
  /// parameters, in memory and in checkpoints.
  bool restore_best_weights = true;

  callback_result operator()(const training& t) const {
    switch (t.event) {
      case event::train_begin:
        require<value_error>(patience > 0 && min_delta >= 0 && std::isfinite(min_delta),
                             "early_stopping: expected a patience of at least 1 epoch and a finite "
                             "min_delta of at least 0, got ",
                             patience, " and ", min_delta);
        (void)smaller_is_better(t.history.metrics, monitor);
        break;
      case event::epoch_end:
        if (restore_best_weights && best(t).epoch == t.epoch) {
          keep(t);
        }
        return opinion(t);
      case event::epoch_begin:
        return opinion(t);  // stops a resumed training that had already stopped
      case event::train_end:
        if (restore_best_weights && !t.history.interrupted) {
          give_back(t);
        }
        // A resumed training without epochs left had already stopped, maybe by this callback.
        return t.history.stop_reason.empty() ? opinion(t) : keep_training();
      default:
        break;
    }
    return keep_training();
  }

 private:
  [[nodiscard]] detail::best_epoch best(const training& t) const {
    return detail::best_of(t.history, monitor, min_delta);
  }
  [[nodiscard]] callback_result opinion(const training& t) const {
    const detail::best_epoch b = best(t);
    if (b.epochs_since < patience) {
      return keep_training();
    }
    const std::string since = text(b.epochs_since, b.epochs_since == 1 ? " epoch" : " epochs");
    return stop_training(b.epoch == 0 ? text(monitor, " was not finite for ", since)
                                      : text("no better ", monitor, " than ", b.score, " of epoch ",
                                             b.epoch, " for ", since));
  }

  [[nodiscard]] std::string prefix() const { return "early_stopping(" + monitor + ")/"; }
  void keep(const training& t) const {
    std::erase_if(t.callback_state(),
                  [&](const named_tensor& k) { return k.name.starts_with(prefix()); });
    for (named_tensor& p : t.parameters()) {
      p.name = prefix() + p.name;
      t.callback_state().push_back(std::move(p));
    }
  }
  void give_back(const training& t) const {
    std::vector<named_tensor> values;
    for (const named_tensor& k : t.callback_state()) {
      if (k.name.starts_with(prefix())) {
        values.push_back({k.name.substr(prefix().size()), k.shape, k.values});
      }
    }
    if (!values.empty()) {
      t.set_parameters(values);
    }
  }
};

}  // namespace glia
