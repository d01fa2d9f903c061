#pragma once

#include <cstddef>
#include <iostream>
#include <vector>

#include "glia/training/callback.hpp"
#include "glia/training/frozen_outputs.hpp"
#include "glia/training/metrics.hpp"

namespace glia {

/// The options of `trainer::fit`.
struct fit_options {
  /// Number of epochs that this call trains. With `resume`, the number of epochs in total,
  /// including those before the resume.
  std::size_t epochs = 1;
  std::size_t batch_size = 32;  ///< Samples in a batch, at least 1; the last batch may be smaller.
  bool shuffle = true;          ///< Whether each epoch has its own random order of samples.
  /// Metrics, such as {mae(), r2_score()}; default: accuracy for class labels, no metrics for
  /// real-valued targets.
  metric_list metrics = {};
  std::ostream* progress = &std::cout;  ///< Stream for the progress bar; nullptr: silent.
  /// Callbacks, called at each event in this order. Callbacks with `runs_last`, such as
  /// `checkpoints`, come last.
  std::vector<callback> callbacks = {};
  frozen_output_options frozen_outputs{};  ///< Options of the cache for outputs of frozen layers.

  /// Whether to continue the trainer's last call of `fit`, or a restored state, until `epochs`
  /// epochs are done in total. The training also continues in the middle of an epoch.
  bool resume = false;
  bool stop_at_interrupt = true;  ///< Whether Ctrl-C and SIGTERM stop after the current step.
};

}  // namespace glia
