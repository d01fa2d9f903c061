#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "glia/training/device_state.hpp"
#include "glia/training/distribution.hpp"
#include "glia/training/step_runner.hpp"
#include "glia/training/training_job.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia {

/// Takes training steps: checks the batch, runs the recorded step and counts it.
class training_step {
 public:
  /// Throws `value_error` if the model does not fit the loss or the parameter groups, or for
  /// options of the distribution that cannot be combined.
  training_step(const training_job& job, const distribution& shared);

  /// Takes one training step on a batch, for the whole model or for the part after its frozen
  /// layers. Adds the batch's loss and metrics to `scores` if it is not null. On devices that
  /// compile graphs, a smaller batch is padded to `rows` rows if its samples do not affect each
  /// other. It then needs no further graph.
  void run(const training_job& job, device_state& state, model_part part, const batch& b,
           running_scores* scores, std::size_t rows = 0);

  /// Records the duration of each kernel of the following steps in `times`; null: no recording.
  void record_timeline(const device& source, timeline* times);
  /// The recording of the steps; can be null.
  [[nodiscard]] timeline* times() const { return times_; }

  /// The processes that train together; null if this process trains alone.
  [[nodiscard]] training_ranks* ranks() const { return ranks_.get(); }
  [[nodiscard]] const step_runner& runner() const { return *runner_; }

 private:
  void require_batch(const training_job& job, const device_state& state, model_part part,
                     const batch& b, running_scores* scores) const;

  std::shared_ptr<step_runner> runner_;
  std::shared_ptr<training_ranks> ranks_;
  timeline* times_ = nullptr;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/training_step_impl.hpp"
#endif
