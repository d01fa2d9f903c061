#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "glia/core/busy_time.hpp"
#include "glia/core/inline.hpp"
#include "glia/training/batch_checks.hpp"
#include "glia/training/local_step.hpp"
#include "glia/training/training_step.hpp"

namespace glia {

namespace detail {

/// Moves the times of the device's helper threads into the recording, if there is one.
GLIA_INLINE void collect_thread_times(const device& source, timeline* times) {
  busy_log* const log = source.implementation().log();
  if (log != nullptr && times != nullptr) {
    times->helpers = log->take();
  }
}

}  // namespace detail

GLIA_INLINE training_step::training_step(const training_job& job, const distribution& shared)
    : ranks_(shared.ranks) {
  require<value_error>(ranks_ != nullptr || !shared.options.reproducible,
                       "trainer: the option `reproducible` of a distribution needs ranks; for one "
                       "process, set .ranks = std::make_shared<glia::lone_rank>(), from "
                       "<glia/distributed.hpp>");
  runner_ = ranks_ ? ranks_->make_step_runner(shared) : std::make_shared<detail::local_step>();
  detail::require_logits(job.net.plan(), job.loss);
  detail::require_parameter_groups(job.parameter_groups, job.net.parameters());
}

GLIA_INLINE void training_step::run(const training_job& job, device_state& state, model_part part,
                                    const batch& b, running_scores* scores, std::size_t rows) {
  together(ranks(), [&] {
    const model_access::training alone(job.net.access());
    require_batch(job, state, part, b, scores);
    runner_->run({job, state, part, b, rows, scores, times_});
    detail::collect_thread_times(job.net.device(), times_);
    ++state.counters().step;  // before the metrics: the step is taken even if a metric throws
    if (scores != nullptr) {
      const timeline::span adding(times_, "scores");
      runner_->add_scores(b, *scores);
    }
  });
}

/// Throws an error if a batch does not fit the model, the loss or the scores.
GLIA_INLINE void training_step::require_batch(const training_job& job, const device_state& state,
                                              model_part part, const batch& b,
                                              running_scores* scores) const {
  const model_core& net = job.net;
  state.require_same_model(net);
  if (b.size > 0 || !runner_->allows_empty_batches()) {
    net.require_batch(b.input_shape, part);
  }
  net.require_integers(std::span<const float>(b.inputs), part);
  require<value_error>(b.size == b.input_shape[0], "trainer: the batch has the size ", b.size,
                       ", but its inputs have the shape ", b.input_shape);
  detail::require_targets(job.loss, b, net.output_shape());
  require<value_error>(b.weights.empty() || b.weights.size() == b.size, "trainer: expected ",
                       b.size, " weights for a batch of ", b.size, " samples, or no weights, got ",
                       b.weights.size());
  for (std::size_t n = 0; n < b.weights.size(); ++n) {
    detail::require_weight("the batch", n, b.weights[n]);
  }
  if (scores != nullptr) {
    scores->count(detail::counted_by(job.loss, b, net.output_shape()));
    detail::require_metrics(
        scores->metrics(),
        {net.output_shape(),
         b.is_labeled() ? std::nullopt : std::optional(sample_of(b.target_shape)),
         job.loss.applied_activation});
    detail::require_classes(job.loss, scores->metrics(), b, net.output_shape());
  }
}

GLIA_INLINE void training_step::record_timeline(const device& source, timeline* times) {
  times_ = times;
  if (detail::busy_log* const log = source.implementation().log()) {
    log->watch(times != nullptr);
  }
}

}  // namespace glia
