#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glia/graph/compilations.hpp"
#include "glia/training/metrics.hpp"
#include "glia/training/scores.hpp"

namespace glia {

/// What one epoch of training came to.
struct epoch_record {
  std::size_t epoch = 0;          ///< from 1
  std::size_t samples = 0;        ///< trained on
  double seconds = 0;             ///< of training, without the validation
  double samples_per_second = 0;  ///< while training
  double learning_rate = 0;       ///< of the epoch's last step
  scores training;                ///< averaged over the epoch, while the model was changing
  std::optional<scores> validation;

  friend bool operator==(const epoch_record&, const epoch_record&) = default;
};

/// What a training came to, epoch by epoch.
struct history {
  std::vector<metric> metrics;  ///< what the scores' metrics are
  std::vector<epoch_record> epochs;
  compilations compiled;      ///< the programs that it took, on backends that compile them
  double frozen_seconds = 0;  ///< computing the frozen layers' outputs, before the first epoch
  std::string frozen_layers;  ///< what was done with frozen layers, and why; empty without any
  /// By Ctrl-C, or by an observer that says so; the last epoch may then be a part of one.
  bool interrupted = false;
  /// Remarks, in order: that the loss is not finite, which checkpoint the training resumed from and
  /// which ones it skipped, what in its setup has changed since, and that nothing was left to do.
  std::vector<std::string> notes;
  std::string stopped;  ///< why the training ended before its last epoch; empty where it did not

  /// The loss ("loss") or a metric, by its name, of each epoch: in training, and on the validation
  /// data of those epochs that have any: none where `fit` was given none. Throws `value_error` for
  /// another name.
  [[nodiscard]] std::vector<double> training(std::string_view name) const {
    std::vector<double> values;
    for (const epoch_record& e : epochs) {
      values.push_back(e.training[name]);
    }
    return values;
  }
  [[nodiscard]] std::vector<double> validation(std::string_view name) const {
    std::vector<double> values;
    for (const epoch_record& e : epochs) {
      static_cast<void>(e.training[name]);  // a name that is wrong is one without validation, too
      if (e.validation) {
        values.push_back((*e.validation)[name]);
      }
    }
    return values;
  }

  /// Of training, all epochs together, without the validations.
  [[nodiscard]] double seconds() const {
    return std::accumulate(epochs.begin(), epochs.end(), 0.0,
                           [](double sum, const epoch_record& e) { return sum + e.seconds; });
  }
  /// While training, over all epochs; 0 if there were none.
  [[nodiscard]] double samples_per_second() const {
    const auto samples =
        std::accumulate(epochs.begin(), epochs.end(), std::size_t{0},
                        [](std::size_t sum, const epoch_record& e) { return sum + e.samples; });
    return samples == 0 ? 0 : static_cast<double>(samples) / seconds();
  }
};

}  // namespace glia
