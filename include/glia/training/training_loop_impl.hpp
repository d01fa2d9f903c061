#pragma once

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/data/row_store.hpp"
#include "glia/training/adapt.hpp"
#include "glia/training/batch_checks.hpp"
#include "glia/training/epoch_steps.hpp"
#include "glia/training/evaluate_core.hpp"
#include "glia/training/fit.hpp"
#include "glia/training/fit_setup.hpp"
#include "glia/training/frozen_outputs_impl.hpp"
#include "glia/training/trace_not_finite.hpp"
#include "glia/training/training_loop.hpp"

namespace glia {

GLIA_INLINE training_loop::training_loop(const training_job& job, device_state& state,
                                         training_step& steps, const fit_options& options,
                                         glia::history& results)
    : training(job.net.plan(), job.net.sample_shape(), results),
      job_(job),
      state_(state),
      step_(steps),
      options_(options),
      results_(results),
      callbacks_(options, ranks() == nullptr ? 0 : ranks()->rank()) {
  require<value_error>(options.batch_size > 0, "fit: expected a batch size of at least 1");
  if (ranks() != nullptr) {
    rank = ranks()->rank();
    rank_count = ranks()->size();
  }
  resume = options.resume;
  batch_size = options.batch_size;
  epochs = options.epochs;
}

GLIA_INLINE training_loop::~training_loop() {
  state_.set_scores(nullptr);
  if (step_.times() != nullptr) {
    record_timeline(nullptr);
  }
}

GLIA_INLINE void training_loop::run(const dataset_view& train, const dataset_view* validation) {
  together(ranks(), [&] {
    require_fitting_data(train, validation);
    if (ranks() != nullptr) {
      ranks()->require_same_training(
          detail::settings_of(job_, counters(), options_, measured_metrics(), train, validation));
    }
    this->train(train, validation);
    if (ranks() != nullptr) {
      ranks()->wait_for_all();  // no rank leaves before the last checkpoint is written
    }
  });
}

GLIA_INLINE void training_loop::require_fitting_data(const dataset_view& train,
                                                     const dataset_view* validation) {
  if (validation != nullptr) {
    detail::require_fitting("fit: validation", *validation, job_.net);
    detail::require_target_shape("fit: validation", *validation, job_.net.output_shape(),
                                 job_.loss);
  }
  state_.require_same_model(job_.net);
  detail::require_fitting("fit", train, job_.net);
  detail::require_target_shape("fit", train, job_.net.output_shape(), job_.loss);
  results_.metrics = options_.metrics.value_or(detail::default_metrics(train));
  for (const dataset_view* data : {&train, validation}) {
    if (data != nullptr) {
      detail::require_metrics(measured_metrics(), job_.net.output_shape(), *data, job_.loss);
    }
  }
  epoch_samples = train.size();
}

GLIA_INLINE void training_loop::train(const dataset_view& train, const dataset_view* validation) {
  begin(train);
  try {
    if (!stopped()) {
      job_.net.frontier() ? run_behind_frozen_layers(train, validation)
                          : run_epochs(train, validation);
    }
  } catch (...) {
    try {
      save_sums();
    } catch (const device_error&) {  // the device has failed, so the sums of the epoch are lost
      counters().position = 0;
      counters().sums.clear();
    }
    throw;
  }
  tell(glia::event::train_end);
}

GLIA_INLINE void training_loop::begin(const dataset_view& train) {
  if (!options_.resume) {
    training_state& current = counters();
    current.position = 0;
    current.sums.clear();
    current.seconds = 0;
    current.history.clear();
    current.callback_state.clear();
  }
  sums_ = std::make_unique<running_scores>(job_.net.device(), measured_metrics(),
                                           detail::class_border(job_.net.plan(), job_.loss));
  results_.epochs = counters().history;
  tell(glia::event::train_begin);
  if (ranks() != nullptr) {
    state_.restore(job_.net, ranks()->state_of_first(state_.read(job_.net)));
    results_.epochs = counters().history;
  }
  const std::vector<std::string> names = detail::names_of(results_.metrics);
  if (counters().position > 0 || !counters().history.empty()) {
    detail::require_same_metrics(counters(), names);
  }
  counters().metrics = names;
  const std::string setup = detail::setup_text(job_, options_, train);
  if (const std::string changes = detail::setup_changes(counters().setup, setup);
      options_.resume && !changes.empty()) {
    results_.notes.push_back(
        "the training is resumed with changes, so its result differs from that of an uninterrupted "
        "training: " +
        changes);
  }
  counters().setup = setup;
  for (const std::string& layer : detail::layers_to_adapt(job_.net)) {
    results_.notes.push_back(text("the layer ", layer,
                                  " does not scale its inputs, because its statistics still have "
                                  "their initial values; call glia::adapt(net, train) before fit"));
  }
  nothing_left_ = options_.resume && !counters().history.empty() && counters().position == 0 &&
                  counters().history.size() >= options_.epochs;
  if (nothing_left_ && !stopped()) {
    results_.notes.push_back(text("nothing is left to do: ", counters().history.size(), " of ",
                                  options_.epochs, " epochs are done"));
  }
  if (counters().position > 0) {
    detail::require_same_epoch(counters(), options_, epoch_samples);
    sums_->go_on_from(counters().sums);
  }
  state_.set_scores(sums_.get());
}

GLIA_INLINE std::vector<metric> training_loop::measured_metrics() const {
  return detail::metrics_of_rows(results_.metrics, job_.net.plan().outputs, job_.loss.target_parts);
}

GLIA_INLINE void training_loop::run_behind_frozen_layers(const dataset_view& train,
                                                         const dataset_view* validation) {
  const auto start = clock::now();
  const frozen_output_options& options = options_.frozen_outputs;
  results_.frozen_layers = detail::frozen_layers_text(train, options);
  if (!detail::is_cached(train, options)) {
    results_.notes.push_back(results_.frozen_layers);
  }
  // The cached outputs must live as long as the views of them.
  std::optional<row_store> rows[2];
  const auto through_frozen_layers = [&](const dataset_view& data, const char* name,
                                         std::optional<row_store>& outputs) {
    if (data.behind_frozen_layers() || !detail::is_cached(data, options) || stopped()) {
      return data;
    }
    outputs = detail::run_frozen_layers(
        job_.net, data, name, options,
        [&](const glia::frozen_pass& pass) {
          tell(glia::event::frozen_pass, &pass);
          return !stopped();
        },
        ranks());
    return outputs ? data.with_frozen_outputs(*outputs, job_.net.frontier()->output) : data;
  };
  const dataset_view training_data = through_frozen_layers(train, "training", rows[0]);
  std::optional<dataset_view> validating;
  if (validation != nullptr) {
    validating = through_frozen_layers(*validation, "validation", rows[1]);
  }
  results_.frozen_seconds = std::chrono::duration<double>(clock::now() - start).count();
  if (!stopped()) {
    run_epochs(training_data, validating ? &*validating : nullptr);
  }
}

GLIA_INLINE void training_loop::run_epochs(const dataset_view& train,
                                           const dataset_view* validation) {
  detail::epoch_steps steps(job_, state_, step_, options_, train, *sums_);
  train_ = &train;
  while (counters().history.size() < options_.epochs && !stopped()) {
    steps.shuffle_samples();
    if (counters().position == 0) {
      sums_->reset();
      counters().seconds = 0;
    }
    tell(glia::event::epoch_begin);
    if (stopped()) {
      break;
    }
    take_steps(steps);
    if (!stopped()) {
      tell(glia::event::train_batches_end);
    }
    epoch_record record = record_so_far();
    if (!std::isfinite(record.training.loss) && !not_finite_noted_) {
      not_finite_noted_ = true;
      results_.notes.push_back(text(
          "the loss is not finite in epoch ", record.epoch,
          "; add glia::terminate_on_nan() to the callbacks to stop at that step and to find the "
          "layer that computes the number"));
    }
    if (!stopped() && validation != nullptr) {
      record.validation = detail::evaluate(job_.net, *validation, job_.loss,
                                           {.metrics = results_.metrics, .ranks = ranks()});
    }
    if (stopped() && counters().position == 0) {
      break;  // a callback has gone back to the beginning of the epoch
    }
    if (ranks() != nullptr) {
      ranks()->require_same_tensors(detail::read_parameters(job_.net));
    }
    results_.epochs.push_back(record);
    if (stopped()) {
      save_sums();
    } else {
      counters().history.push_back(std::move(record));
      counters().position = 0;
      counters().sums.clear();
      tell(glia::event::epoch_end);
    }
  }
}

GLIA_INLINE void training_loop::take_steps(detail::epoch_steps& steps) {
  training_state& current = counters();
  const auto start = clock::now();
  const double offset = current.seconds;
  steps.start();
  const auto next = [&] {
    const timeline::span waiting(step_.times(), "data");
    return steps.next();
  };
  for (const batch* b = nullptr; !stopped() && (b = next()) != nullptr;) {
    last_scale_ = current.learning_rate_scale;
    steps.take(*b);
    current.seconds = offset + std::chrono::duration<double>(clock::now() - start).count();
    tell(glia::event::train_batch_end);
  }
  if (job_.net.device().compiles_whole_graphs()) {
    (void)sums_->loss();  // waits for steps that still run
  }
  current.seconds = offset + std::chrono::duration<double>(clock::now() - start).count();
}

GLIA_INLINE std::string training_loop::trace_not_finite(const training_state& earlier) const {
  detail::epoch_steps steps(job_, state_, step_, options_, *train_, *sums_);
  std::string description = detail::trace_not_finite(steps, earlier);
  results_.epochs = counters().history;
  return description;
}

GLIA_INLINE double training_loop::learning_rate() const {
  const training_state& current = counters();
  return last_scale_.value_or(current.learning_rate_scale) *
         job_.optimizer.learning_rate(
             static_cast<std::size_t>(current.step == 0 ? 0 : current.step - 1));
}

GLIA_INLINE epoch_record training_loop::record_so_far() const {
  const training_state& current = counters();
  epoch_record record;
  record.epoch = current.history.size() + 1;
  record.samples = static_cast<std::size_t>(current.position);
  record.training = sums_->means();
  record.seconds = current.seconds;
  record.samples_per_second = static_cast<double>(current.position) / current.seconds;
  record.learning_rate = learning_rate();
  return record;
}

GLIA_INLINE void training_loop::restore(const training_state& saved) const {
  require<value_error>(event == glia::event::train_begin,
                       "fit: a callback can restore a training only at event::train_begin");
  state_.restore(job_.net, saved);
  results_.epochs = counters().history;
}

GLIA_INLINE void training_loop::scale_learning_rate(double factor) const {
  require<value_error>(factor > 0 && std::isfinite(factor),
                       "fit: expected a positive, finite factor for the learning rate, got ",
                       factor);
  (void)job_.optimizer.numbers(static_cast<std::size_t>(counters().step),
                               counters().learning_rate_scale * factor);
  counters().learning_rate_scale *= factor;
}

GLIA_INLINE void training_loop::tell(glia::event current, const glia::frozen_pass* pass) {
  results_.compilations = compiled() - before_;
  const training_state& progress = counters();
  event = current;
  frozen_pass = pass;
  samples_done = static_cast<std::size_t>(progress.position);
  epoch =
      progress.history.size() + (samples_done > 0 || current == glia::event::epoch_begin ? 1 : 0);
  step = static_cast<std::size_t>(progress.step);
  callback_result said = callbacks_.call(*this);
  if (ranks() != nullptr && current != glia::event::train_end) {
    said = ranks()->agree(said);
  }
  // A resumed training without epochs left only has train_end, where callbacks can give the reason.
  if (said.next != callback_result::action::proceed && !stopped() &&
      (current != glia::event::train_end || nothing_left_)) {
    results_.stop_reason = said.reason.empty() ? "stopped by a callback" : said.reason;
    results_.interrupted = said.next == callback_result::action::interrupt;
  }
}

namespace detail {

GLIA_INLINE history fit(const training_job& job, device_state& state, training_step& steps,
                        const fit_options& options, const dataset_view& train,
                        const dataset_view* validation) {
  history results;
  training_loop(job, state, steps, options, results).run(train, validation);
  return results;
}

}  // namespace detail

}  // namespace glia
