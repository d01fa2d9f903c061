#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/version.hpp"
#include "glia/data/batch_loader.hpp"
#include "glia/data/row_store.hpp"
#include "glia/distributed/running_build.hpp"
#include "glia/training/agreement.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/evaluate_core.hpp"
#include "glia/training/feed.hpp"
#include "glia/training/frozen_outputs_impl.hpp"
#include "glia/training/interrupt.hpp"
#include "glia/training/not_finite.hpp"
#include "glia/training/progress.hpp"
#include "glia/training/shared_scores.hpp"
#include "glia/training/trainer_core.hpp"

namespace glia {

/// One call of fit: runs the epochs and calls the callbacks, which see it as a `training`.
class fit_run final : public training {
 public:
  using subject = trainer_core::subject;

  /// Writes the results to `result`.
  fit_run(trainer_core& trainer, const subject& what, const fit_options& options,
          glia::history& result)
      : training(what.net.plan(), what.net.sample_shape(), result),
        trainer_(trainer),
        what_(what),
        options_(options),
        result_(result) {
    rank = over().rank();
    rank_count = over().size();
    resume = options.resume;
    batch_size = options.batch_size;
    epochs = options.epochs;
    require<value_error>(options.batch_size > 0, "fit: expected a batch size of at least 1");
    if (options.progress != nullptr) {
      add(progress_bar(*options.progress));
    }
    for (const bool runs_last : {false, true}) {
      for (const callback& one : options.callbacks) {
        if (one.runs_last() == runs_last) {
          add(one);
        }
      }
    }
    if (options.stop_at_interrupt) {
      interrupt_.emplace();
      callbacks_.emplace_back([this](const training&) {
        return interrupt_->interrupted() ? interrupt_training(interrupt_->reason())
                                         : keep_training();
      });
    }
  }
  fit_run(const fit_run&) = delete;
  fit_run& operator=(const fit_run&) = delete;
  ~fit_run() {
    trainer_.running_ = nullptr;
    if (trainer_.times_ != nullptr) {
      trainer_.watch(what_.net, nullptr);
    }
  }

  /// Trains. `validation` can be null.
  void run(const dataset_view& train, const dataset_view* validation);

  [[nodiscard]] double loss() const override { return sums_->loss(); }
  [[nodiscard]] training_state state() const override { return trainer_.state(what_.net); }
  void restore(const training_state& saved) const override;
  [[nodiscard]] std::vector<named_tensor> parameters() const override {
    return trainer_.parameters(what_.net);
  }
  void set_parameters(std::span<const named_tensor> values) const override {
    trainer_.set_parameters(what_.net, values);
  }
  void scale_learning_rate(double factor) const override;
  [[nodiscard]] std::string trace_not_finite(const training_state& earlier) const override;
  [[nodiscard]] training_memory memory() const override { return trainer_.memory(what_.net); }
  void record_timeline(timeline* times) const override { trainer_.watch(what_.net, times); }
  void add_note(const std::string& line) const override { result_.notes.push_back(line); }
  [[nodiscard]] std::vector<named_tensor>& callback_state() const override { return at().kept; }

 private:
  using clock = std::chrono::steady_clock;

  [[nodiscard]] training_state& at() const { return trainer_.at_; }
  [[nodiscard]] const distribution& over() const { return trainer_.options_.distribution; }
  /// The ranks that train together; null if this process trains alone.
  [[nodiscard]] rank_group* ranks() const { return over().ranks.get(); }
  void add(callback one) {
    if (over().rank() == 0 || !one.first_rank_only()) {
      callbacks_.push_back(std::move(one));
    }
  }
  [[nodiscard]] bool stopped() const { return !result_.stop_reason.empty(); }

  void check(const dataset_view& train, const dataset_view* validation);
  void begin();
  void begin_together(const dataset_view& train, const dataset_view* validation);
  void train(const dataset_view& train, const dataset_view* validation);
  void run_behind_frozen_layers(const dataset_view& train, const dataset_view* validation);
  void run_epochs(const dataset_view& train, const dataset_view* validation);
  /// Takes the remaining steps of an epoch.
  void take_steps(batch_loader& loader, std::span<const std::uint32_t> order, model_part which,
                  std::uint64_t index);
  [[nodiscard]] epoch_record record_so_far();
  /// Counts a batch after its training step.
  void pass_over(const batch& b, std::uint64_t index) const {
    training_state& now = at();
    now.epoch = index + 1;
    now.position += b.whole_size();
    now.samples = epoch_samples;
    now.batch_size = options_.batch_size;
    now.shuffled = options_.shuffle;
  }
  /// Saves the sums of an incomplete epoch, so that it can be resumed.
  void keep_sums() {
    if (at().position > 0) {
      at().sums = sums_->sums_so_far();
    }
  }
  void require_same_epoch(std::size_t samples);
  void require_same_metrics();
  /// Describes the loss, the optimizer and the batches of this call of fit. Checkpoints store this
  /// text.
  [[nodiscard]] std::string setup() const;
  [[nodiscard]] std::vector<metric> measured_metrics() const;
  [[nodiscard]] std::vector<std::string> metric_names() const;

  /// Calls the callbacks.
  void tell(glia::event now, const glia::frozen_pass* pass = nullptr);
  /// Counts the graphs that the backend has compiled so far. Zero if it does not compile graphs.
  [[nodiscard]] compilations compiled() const { return what_.net.device().compilations(); }
  /// Puts the samples of the epoch with this index in their order.
  void shuffle_for(std::uint64_t index, std::vector<std::uint32_t>& order) const;
  [[nodiscard]] std::string first_not_finite(const batch& own) const;

  trainer_core& trainer_;
  const subject& what_;
  const fit_options& options_;
  std::vector<callback> callbacks_;
  std::optional<interrupt_guard> interrupt_;
  std::unique_ptr<running_scores> sums_;
  compilations before_ = compiled();  // before this call of fit
  glia::history& result_;
  const dataset_view* train_ = nullptr;  // while the epochs run
  bool nothing_left_ = false;            // whether a resumed training has no epochs left
  bool not_finite_noted_ = false;        // whether a note says that the loss is not finite
};

inline void fit_run::run(const dataset_view& train, const dataset_view* validation) {
  together(ranks(), [&] {
    check(train, validation);
    if (ranks() != nullptr) {
      begin_together(train, validation);
    }
    this->train(train, validation);
    if (ranks() != nullptr) {
      (void)gather(*ranks(), "");  // no rank leaves before the last checkpoint is written
    }
  });
}

inline void fit_run::check(const dataset_view& train, const dataset_view* validation) {
  if (validation != nullptr) {
    require_fitting("fit: validation", *validation, what_.net);
    require_target_shape("fit: validation", *validation, what_.net.output_shape(), what_.loss);
  }
  trainer_.require_same_model(what_.net);
  require_fitting("fit", train, what_.net);
  require_target_shape("fit", train, what_.net.output_shape(), what_.loss);
  result_.metrics = options_.metrics.value_or(default_metrics(train));
  for (const dataset_view* data : {&train, validation}) {
    if (data != nullptr) {
      require_metrics(measured_metrics(), what_.net.output_shape(), *data, what_.loss);
    }
  }
  epoch_samples = train.size();
}

/// Throws `rank_error` if ranks have different models, data or options.
inline void fit_run::begin_together(const dataset_view& train, const dataset_view* validation) {
  const auto described = [](const dataset_view* data) {
    return data == nullptr ? std::string("none")
                           : text(data->size(), " of ", data->input_shape(), " with ",
                                  data->target_shape() ? text(*data->target_shape()) : "classes");
  };
  std::string parameters;
  for (const parameter& p : what_.net.parameters()) {
    parameters += text(p.spec.name, ' ', p.spec.shape, "; ");
  }
  std::string names;
  for (const metric& m : measured_metrics()) {
    names += m.name + ' ';
  }
  const std::vector<rank_setting> own{
      {"ranks", text(over().size())},
      {"glia", text(GLIA_VERSION_MAJOR, '.', GLIA_VERSION_MINOR, '.', GLIA_VERSION_PATCH)},
      {"build", running_build()},
      {"parameters", parameters},
      {"loss", what_.loss.description()},
      {"slots", text(what_.optimizer.state_count)},
      {"optimizer", at().optimizer},
      {"learning rate", text(what_.optimizer.learning_rate(0))},
      {"seed", text(at().seed)},
      {"training samples", described(&train)},
      {"training data", detail::sampled_checksum(train)},
      {"validation samples", described(validation)},
      {"validation data", validation == nullptr ? "none" : detail::sampled_checksum(*validation)},
      {"epochs", text(options_.epochs)},
      {"batch size", text(options_.batch_size)},
      {"shuffled", text(options_.shuffle)},
      {"resume", text(options_.resume)},
      {"metrics", names},
      {"gradient transforms", text(trainer_.options_.gradient_transforms.size())}};
  require_same_settings(*ranks(), own);
}

inline void fit_run::train(const dataset_view& train, const dataset_view* validation) {
  begin();
  try {
    if (!stopped()) {
      what_.net.frontier() ? run_behind_frozen_layers(train, validation)
                           : run_epochs(train, validation);
    }
  } catch (...) {
    try {
      keep_sums();
    } catch (const device_error&) {  // the device has failed, so the sums of the epoch are lost
      at().position = 0;
      at().sums.clear();
    }
    throw;
  }
  tell(glia::event::train_end);
}

inline void fit_run::begin() {
  if (!options_.resume) {
    training_state& now = at();
    now.position = 0;
    now.sums.clear();
    now.seconds = 0;
    now.history.clear();
    now.kept.clear();
  }
  sums_ = std::make_unique<running_scores>(what_.net.device(), measured_metrics(),
                                           class_border(what_.net.plan(), what_.loss));
  result_.epochs = at().history;
  tell(glia::event::train_begin);
  if (ranks() != nullptr) {
    trainer_.restore(what_.net, state_of_first(*ranks(), trainer_.state(what_.net)));
    result_.epochs = at().history;
  }
  if (at().position > 0 || !at().history.empty()) {
    require_same_metrics();
  }
  at().metrics = metric_names();
  const std::string now = setup();
  if (options_.resume && !at().setup.empty() && at().setup != now) {
    result_.notes.push_back("the training so far had " + at().setup + "; it is resumed with " +
                            now + ", so its result differs from that of an uninterrupted training");
  }
  at().setup = now;
  nothing_left_ = options_.resume && !at().history.empty() && at().position == 0 &&
                  at().history.size() >= options_.epochs;
  if (nothing_left_ && !stopped()) {
    result_.notes.push_back(text("nothing is left to do: ", at().history.size(), " of ",
                                 options_.epochs, " epochs are done"));
  }
  if (at().position > 0) {
    require_same_epoch(epoch_samples);
    sums_->go_on_from(at().sums);
  }
  trainer_.running_ = sums_.get();
}

inline std::vector<metric> fit_run::measured_metrics() const {
  return metrics_of_rows(result_.metrics, what_.net.plan().outputs, what_.loss.target_parts);
}

/// Throws `value_error` unless an incomplete epoch has the same samples and batches as before.
inline void fit_run::require_same_epoch(std::size_t samples) {
  const training_state& begun = at();
  const auto cut = [](std::uint64_t all, std::uint64_t batch, bool shuffled) {
    return text(all, shuffled ? " shuffled" : "", " samples in batches of ", batch);
  };
  const std::string was = cut(begun.samples, begun.batch_size, begun.shuffled);
  const std::string is = cut(samples, options_.batch_size, options_.shuffle);
  require<value_error>(was == is, "fit: the epoch to resume has ", was,
                       ", but this call of fit has ", is,
                       "; use the same data and options, or begin the next epoch without resume");
  require<value_error>(begun.position <= samples &&
                           (begun.position == samples || begun.position % options_.batch_size == 0),
                       "fit: an epoch of ", was, " cannot be resumed at sample ", begun.position,
                       "; the training state is damaged");
}

inline void fit_run::require_same_metrics() {
  const auto listed = [](const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) {
      all += (all.empty() ? "" : ", ") + name;
    }
    return names.empty() ? "none" : all;
  };
  const std::vector<std::string> asked = metric_names();
  require<value_error>(at().metrics == asked, "fit: the training to resume has the metrics ",
                       listed(at().metrics), ", but this call of fit has ", listed(asked),
                       "; use the same metrics, or begin a new training without resume");
}

inline std::string fit_run::setup() const {
  std::string clipping;
  for (const gradient_transform& one : trainer_.options_.gradient_transforms) {
    clipping +=
        text(one.what == gradient_transform::kind::clip_by_global_norm ? "clip_by_global_norm("
                                                                       : "clip_by_value(",
             one.bound, "), ");
  }
  return text(what_.loss.description(), ", ", clipping, what_.optimizer.description(), ", ",
              options_.shuffle ? "shuffled " : "", "batches of ", options_.batch_size, " of ",
              epoch_samples, " samples");
}

inline std::vector<std::string> fit_run::metric_names() const {
  std::vector<std::string> names;
  for (const metric& m : result_.metrics) {
    names.push_back(m.name);
  }
  return names;
}

inline void fit_run::run_behind_frozen_layers(const dataset_view& train,
                                              const dataset_view* validation) {
  const auto start = clock::now();
  const frozen_output_options& how = options_.frozen_outputs;
  const auto worth_keeping = [&](const dataset_view& data) {
    return data.behind_frozen_layers() || (how.cache && !data.varies());
  };
  const bool keep_train = worth_keeping(train);
  result_.frozen_layers =
      keep_train   ? "the outputs of the frozen layers were computed once and cached"
      : !how.cache ? "the frozen layers run in every step, because the options say so"
                   : "the frozen layers run in every step, because the training samples change "
                     "from epoch to epoch (they are augmented)";
  if (!keep_train) {
    result_.notes.push_back(result_.frozen_layers);
  }
  // The cached outputs must live as long as the views of them.
  std::optional<row_store> rows[2];
  const auto through_frozen_layers = [&](const dataset_view& data, const char* name,
                                         std::optional<row_store>& into) {
    if (data.behind_frozen_layers() || !worth_keeping(data) || stopped()) {
      return data;
    }
    into = detail::run_frozen_layers(
        what_.net, what_.described, data, name, how,
        [&](const glia::frozen_pass& pass) {
          tell(glia::event::frozen_pass, &pass);
          return !stopped();
        },
        ranks());
    return into ? data.with_frozen_outputs(*into, what_.net.frontier()->output) : data;
  };
  const dataset_view training_data = through_frozen_layers(train, "training", rows[0]);
  std::optional<dataset_view> validating;
  if (validation != nullptr) {
    validating = through_frozen_layers(*validation, "validation", rows[1]);
  }
  result_.frozen_seconds = std::chrono::duration<double>(clock::now() - start).count();
  if (!stopped()) {
    run_epochs(training_data, validating ? &*validating : nullptr);
  }
}

inline void fit_run::run_epochs(const dataset_view& train, const dataset_view* validation) {
  std::vector<std::uint32_t> order(train.size());
  batch_loader loader(train, options_.batch_size, over().share());
  train_ = &train;
  while (at().history.size() < options_.epochs && !stopped()) {
    const bool going_on = at().position > 0;
    const std::uint64_t index = going_on ? at().epoch - 1 : at().epoch;
    shuffle_for(index, order);
    if (!going_on) {
      sums_->reset();
      at().seconds = 0;
    }
    tell(glia::event::epoch_begin);
    if (stopped()) {
      break;
    }
    take_steps(loader, order, part_for(train), index);
    if (!stopped()) {
      tell(glia::event::train_batches_end);
    }
    epoch_record record = record_so_far();
    if (!std::isfinite(record.training.loss) && !not_finite_noted_) {
      not_finite_noted_ = true;
      result_.notes.push_back(text(
          "the loss is not finite in epoch ", record.epoch,
          "; add glia::terminate_on_nan() to the callbacks to stop at that step and to find the "
          "layer that computes the number"));
    }
    if (!stopped() && validation != nullptr) {
      record.validation = detail::evaluate(what_.net, what_.described, *validation, what_.loss,
                                           {.metrics = result_.metrics, .ranks = ranks()});
    }
    if (stopped() && at().position == 0) {
      break;  // a callback has gone back to the beginning of the epoch
    }
    if (ranks() != nullptr) {
      require_same_tensors(*ranks(), trainer_.parameters(what_.net));
    }
    result_.epochs.push_back(record);
    if (stopped()) {
      keep_sums();
    } else {
      at().history.push_back(std::move(record));
      at().position = 0;
      at().sums.clear();
      tell(glia::event::epoch_end);
    }
  }
}

inline void fit_run::take_steps(batch_loader& loader, std::span<const std::uint32_t> order,
                                model_part which, std::uint64_t index) {
  training_state& now = at();
  const auto start = clock::now();
  const double before = now.seconds;
  loader.start(order.subspan(now.position), index);
  const auto next = [&] {
    const timeline::span waiting(trainer_.times_, "data");
    return loader.next();
  };
  for (const batch* b = nullptr; !stopped() && (b = next()) != nullptr;) {
    trainer_.step(what_, which, *b, sums_.get(), std::min(batch_size, epoch_samples));
    pass_over(*b, index);
    now.seconds = before + std::chrono::duration<double>(clock::now() - start).count();
    tell(glia::event::train_batch_end);
  }
  if (what_.net.device().compiles_whole_graphs()) {
    (void)sums_->loss();  // waits for steps that still run
  }
  now.seconds = before + std::chrono::duration<double>(clock::now() - start).count();
}

inline void fit_run::shuffle_for(std::uint64_t index, std::vector<std::uint32_t>& order) const {
  std::iota(order.begin(), order.end(), 0U);
  if (options_.shuffle) {
    shuffle(std::span(order), {.seed = trainer_.at_.seed,
                               .stream = shuffle_stream,
                               .step = static_cast<std::uint32_t>(index)});
  }
}

/// Repeats the steps since the state `from`, up to the first step whose results are not finite.
/// Returns a description of this step, and goes back to the state before it.
inline std::string fit_run::trace_not_finite(const training_state& from) const {
  const training_state now = trainer_.state(what_.net);
  const auto go_back_to = [&](const training_state& to) {
    trainer_.restore(what_.net, to);
    result_.epochs = at().history;
    sums_->reset();
    if (to.position > 0) {
      sums_->go_on_from(to.sums);
    }
  };
  go_back_to(from);
  const std::uint64_t index = from.position > 0 ? from.epoch - 1 : from.epoch;
  std::vector<std::uint32_t> order(train_->size());
  shuffle_for(index, order);
  batch_loader loader(*train_, options_.batch_size, over().share());
  loader.start(std::span<const std::uint32_t>(order).subspan(from.position), index);
  training_state before = from;
  while (const batch* b = loader.next()) {
    trainer_.step(what_, part_for(*train_), *b, sums_.get(), std::min(batch_size, epoch_samples));
    pass_over(*b, index);
    training_state after = trainer_.state(what_.net);
    if (!std::isfinite(sums_->loss()) || !all_finite(after.tensors)) {
      const std::uint64_t first = after.step;
      go_back_to(before);
      return text("step ", first, " of epoch ", before.history.size() + 1, ", first in ",
                  first_not_finite(*b));
    }
    before = std::move(after);
  }
  go_back_to(now);
  return "a step that did not occur again";
}

/// Finds the first kernel of a step whose result is not finite, on the lowest rank with such a
/// kernel.
inline std::string fit_run::first_not_finite(const batch& own) const {
  std::string found;
  if (own.size > 0) {
    found = trainer_.first_not_finite(what_, part_for(*train_), own);
  }
  if (ranks() != nullptr) {
    const std::vector<std::string> all = gather(*ranks(), found);
    const auto one =
        std::find_if(all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
    found = one == all.end()
                ? ""
                : *one + ", on " + ranks()->name_of(static_cast<std::size_t>(one - all.begin()));
  }
  return found.empty() ? "no kernel, when they run one by one" : found;
}

inline epoch_record fit_run::record_so_far() {
  const training_state& now = at();
  epoch_record record;
  record.epoch = now.history.size() + 1;
  record.samples = now.position;
  record.training = sums_->means();
  record.seconds = now.seconds;
  record.samples_per_second = static_cast<double>(now.position) / now.seconds;
  record.learning_rate =
      now.learning_rate_scale * what_.optimizer.learning_rate(now.step == 0 ? 0 : now.step - 1);
  return record;
}

inline void fit_run::restore(const training_state& saved) const {
  require<value_error>(event == glia::event::train_begin,
                       "fit: a callback can restore a training only at event::train_begin");
  trainer_.restore(what_.net, saved);
  result_.epochs = at().history;
}

inline void fit_run::scale_learning_rate(double factor) const {
  require<value_error>(factor > 0 && std::isfinite(factor),
                       "fit: expected a positive, finite factor for the learning rate, got ",
                       factor);
  (void)what_.optimizer.numbers(at().step, at().learning_rate_scale * factor);
  at().learning_rate_scale *= factor;
}

inline void fit_run::tell(glia::event now, const glia::frozen_pass* pass) {
  result_.compilations = compiled() - before_;
  const training_state& progress = at();
  event = now;
  frozen_pass = pass;
  samples_done = progress.position;
  epoch = progress.history.size() + (samples_done > 0 || now == glia::event::epoch_begin ? 1 : 0);
  step = progress.step;
  callback_result said;
  for (const callback& one : callbacks_) {
    const callback_result v = one(*this);
    if (v.next != callback_result::action::proceed &&
        said.next == callback_result::action::proceed) {
      said = v;
    }
  }
  if (ranks() != nullptr && now != glia::event::train_end) {
    said = agreed(*ranks(), said);
  }
  // A resumed training without epochs left only has train_end, where callbacks can give the reason.
  if (said.next != callback_result::action::proceed && !stopped() &&
      (now != glia::event::train_end || nothing_left_)) {
    result_.stop_reason = said.reason.empty() ? "stopped by a callback" : said.reason;
    result_.interrupted = said.next == callback_result::action::interrupt;
  }
}

}  // namespace glia
