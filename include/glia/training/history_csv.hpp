#pragma once

#include <filesystem>
#include <ostream>

#include "glia/core/number_text.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/training/history.hpp"

namespace glia {

/// Writes the history of a training to a CSV file, with one row for each epoch.
///
/// The columns are epoch, seconds, samples_per_second, learning_rate, loss and the metrics by their
/// names. If there was a validation, validation_loss and the metrics with the prefix "validation_"
/// follow. Numbers are written with all their digits. The file is replaced as a whole or not at
/// all.
///
/// Throws `data_error`, with the path, if the file cannot be written.
inline void write_history_csv(const std::filesystem::path& path, const history& training) {
  const bool validated = !training.epochs.empty() && training.epochs.front().validation;
  write_whole_file(path, [&](std::ostream& out) {
    const auto names = [&](const char* prefix) {
      out << ',' << prefix << "loss";
      for (const metric& m : training.metrics) {
        out << ',' << prefix << m.name;
      }
    };
    const auto values = [&](const scores& s) {
      out << ',' << exact_text(s.loss);
      for (double value : s.metric_values) {
        out << ',' << exact_text(value);
      }
    };
    out << "epoch,seconds,samples_per_second,learning_rate";
    names("");
    if (validated) {
      names("validation_");
    }
    out << '\n';
    for (const epoch_record& e : training.epochs) {
      out << e.epoch << ',' << exact_text(e.seconds) << ',' << exact_text(e.samples_per_second)
          << ',' << exact_text(e.learning_rate);
      values(e.training);
      if (e.validation) {
        values(*e.validation);
      } else if (validated) {  // an interrupted epoch has empty cells here
        for (std::size_t i = 0; i <= training.metrics.size(); ++i) {
          out << ',';
        }
      }
      out << '\n';
    }
  });
}

}  // namespace glia
