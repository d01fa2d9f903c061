#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glia/backends/compilations.hpp"
#include "glia/training/metrics.hpp"
#include "glia/training/scores.hpp"

namespace glia {

/// The results of one epoch of training.
struct epoch_record {
  std::size_t epoch = 0;             ///< Number of the epoch, from 1.
  std::size_t samples = 0;           ///< Number of samples trained on.
  double seconds = 0;                ///< Seconds of training, without the validation.
  double samples_per_second = 0;     ///< Samples per second of training.
  double learning_rate = 0;          ///< Learning rate of the epoch's last step.
  scores training;                   ///< Loss and metrics, averaged over the epoch's steps.
  std::optional<scores> validation;  ///< Loss and metrics of the validation data after the epoch.

  friend bool operator==(const epoch_record&, const epoch_record&) = default;
};

/// The results of a training, epoch by epoch. `fit` returns it.
struct history {
  std::vector<metric> metrics;  ///< The metrics of the scores, in their order.
  /// The results of each epoch. If the training ended within an epoch, the last record has the
  /// results of the steps up to there, and no validation.
  std::vector<epoch_record> epochs;
  /// Graphs compiled during the training, on devices that compile graphs as a whole.
  glia::compilations compilations;
  /// Seconds spent on the outputs of frozen layers before the first epoch.
  double frozen_seconds = 0;
  /// Whether the outputs of frozen layers were cached, and why; empty without frozen layers.
  std::string frozen_layers;
  /// Whether Ctrl-C, SIGTERM or a callback interrupted the training. The last epoch can then be
  /// incomplete.
  bool interrupted = false;
  /// Remarks on the training, in the order of their events: the checkpoint from which it resumed,
  /// skipped checkpoints, changes of the loss, the optimizer, the data or the batches since then,
  /// a loss that is not finite, or no epochs left to do. Callbacks add further remarks.
  std::vector<std::string> notes;
  /// Reason why the training ended before its last epoch; empty if it did not end early.
  std::string stop_reason;

  /// The loss ("loss") or a metric on the training data, one value for each epoch. Throws
  /// `value_error` for an unknown name.
  [[nodiscard]] std::vector<double> training(std::string_view name) const {
    std::vector<double> values;
    for (const epoch_record& e : epochs) {
      values.push_back(e.training[name]);
    }
    return values;
  }
  /// The loss ("loss") or a metric on the validation data, one value for each epoch that was
  /// validated. Empty if `fit` had no validation data. Throws `value_error` for an unknown name.
  [[nodiscard]] std::vector<double> validation(std::string_view name) const {
    std::vector<double> values;
    for (const epoch_record& e : epochs) {
      static_cast<void>(e.training[name]);  // throws for an unknown name, also without validation
      if (e.validation) {
        values.push_back((*e.validation)[name]);
      }
    }
    return values;
  }

  /// The seconds of training in all epochs together, without the validations.
  [[nodiscard]] double seconds() const {
    return std::accumulate(epochs.begin(), epochs.end(), 0.0,
                           [](double sum, const epoch_record& e) { return sum + e.seconds; });
  }
  /// The samples per second of training, over all epochs. 0 if there are no epochs.
  [[nodiscard]] double samples_per_second() const {
    const auto samples =
        std::accumulate(epochs.begin(), epochs.end(), std::size_t{0},
                        [](std::size_t sum, const epoch_record& e) { return sum + e.samples; });
    return samples == 0 ? 0 : static_cast<double>(samples) / seconds();
  }
};

}  // namespace glia
