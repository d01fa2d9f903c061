#pragma once

#include <cstddef>

#include "glia/core/pieces.hpp"
#include "glia/data/dataset.hpp"
#include "glia/graph/timeline.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/device_state.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/training_job.hpp"

namespace glia {

/// Measurements of the last sum of gradients over several processes, on this rank.
struct batch_sum_record {
  double waited_seconds = 0;  ///< Time spent waiting in `finish`, in seconds.
  double seconds = 0;         ///< Time from the first bucket's start to the end, in seconds.
  std::size_t bytes = 0;      ///< Number of bytes that this rank sent.
  std::size_t messages = 0;   ///< Number of messages that this rank sent.
};

/// Runs the recorded training steps: in this process alone, or together with other processes.
class step_runner {
 public:
  /// The arguments of a step.
  struct arguments {
    const training_job& job;
    device_state& state;
    model_part part;      ///< The whole model, or the part after its frozen layers.
    const batch& inputs;  ///< The samples of the batch that belong to this process.
    std::size_t rows;     ///< Number of rows to which a smaller batch can be padded; 0: no padding.
    const running_scores* scores;  ///< Scores to compute; can be null.
    timeline* times;               ///< Recording of the step; can be null.
  };

  step_runner() = default;
  step_runner(const step_runner&) = delete;
  step_runner& operator=(const step_runner&) = delete;
  virtual ~step_runner() = default;

  /// Takes a step: replaces the parameters and the optimizer's tensors.
  virtual void run(const arguments& step) = 0;
  /// Adds the scores of the last step to `scores`.
  virtual void add_scores(const batch& b, running_scores& scores) const = 0;

  /// The pieces of a batch that this process computes.
  [[nodiscard]] virtual piece_share share() const = 0;
  /// Whether a batch can have no samples in this process.
  [[nodiscard]] virtual bool allows_empty_batches() const = 0;
  /// Sets the members of `memory` that belong to steps.
  virtual void add_memory(training_memory& memory) const = 0;
  /// Measurements of the last sum of gradients over several processes.
  [[nodiscard]] virtual batch_sum_record last_sum() const = 0;
};

}  // namespace glia
