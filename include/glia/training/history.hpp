#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "glia/training/metrics.hpp"

namespace glia {

/// What one epoch of training came to.
struct epoch_record {
  std::size_t epoch = 0;          ///< from 1
  double seconds = 0;             ///< of training, without the validation
  double samples_per_second = 0;  ///< while training
  double learning_rate = 0;       ///< of the epoch's last step
  scores training;                ///< averaged over the epoch, while the model was changing
  std::optional<scores> validation;
};

/// What a training came to, epoch by epoch.
struct history {
  std::vector<metric> metrics;  ///< what the scores' metrics are
  std::vector<epoch_record> epochs;
  bool interrupted = false;  ///< by Ctrl-C; the last epoch may then be a part of one
};

}  // namespace glia
