#pragma once

#include <filesystem>

#include "glia/training/callback.hpp"
#include "glia/training/history_csv.hpp"

namespace glia {

/// A callback that writes the history of the training to a CSV file after each epoch.
///
///     trainer.fit(train, test, {.epochs = 20, .callbacks = {glia::csv_logger{"history.csv"}}});
///
/// The columns are the same as for `write_history_csv`: epoch, seconds, samples_per_second,
/// learning_rate, loss and metrics, then validation_loss and the metrics of the validation. Epochs
/// count from 1.
///
/// The whole file is replaced after each epoch. It is therefore complete at any time, and contains
/// all epochs of a resumed training. Keras's `CSVLogger` appends rows, and counts epochs from 0.
///
/// `fit` throws `data_error` before the first step if the file cannot be written, except when it
/// resumes a training.
struct csv_logger {
  static constexpr bool first_rank_only = true;

  std::filesystem::path path;  ///< Path of the CSV file.

  void operator()(const training& t) const {
    // At the beginning, to see whether the file can be written; but a resumed training must not
    // lose the epochs in its file.
    if ((t.event == event::train_begin && !t.resume) || t.event == event::epoch_end ||
        t.event == event::train_end) {
      write_history_csv(path, t.history);
    }
  }
};

}  // namespace glia
