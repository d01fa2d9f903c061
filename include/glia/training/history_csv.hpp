#pragma once

#include <filesystem>
#include <ostream>

#include "glia/core/number_text.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/training/history.hpp"

namespace glia {

/// Writes a training, a row for each epoch, as comma-separated values: epoch, seconds, images a
/// second, learning rate, loss and metrics, the last two also on the validation data where there
/// were any. Numbers have all of their digits. The file is there whole or not at all.
///
/// Throws `data_error`, naming the file, where it cannot be written.
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
      for (double value : s.metrics) {
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
      } else if (validated) {  // an epoch that was interrupted: its cells stay empty
        for (std::size_t i = 0; i <= training.metrics.size(); ++i) {
          out << ',';
        }
      }
      out << '\n';
    }
  });
}

}  // namespace glia
