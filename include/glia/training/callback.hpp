#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/named_tensor.hpp"
#include "glia/core/shape.hpp"
#include "glia/graph/timeline.hpp"
#include "glia/layers/plan.hpp"
#include "glia/training/history.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

/// The events of a training at which callbacks are called.
enum class event : std::uint8_t {
  train_begin,        ///< Before anything else; an interrupted training is restored here.
  frozen_pass,        ///< More samples have passed the frozen layers, before the first epoch.
  epoch_begin,        ///< An epoch begins or is resumed; epochs count from 1.
  train_batch_end,    ///< After each training step.
  train_batches_end,  ///< After an epoch's last step, before its validation, if there is one.
  epoch_end,          ///< After the validation; see `history.epochs.back()`.
  /// After everything else, but not if an exception ends the training. The result of a callback is
  /// ignored here, unless a resumed training had no epochs left. In that case its reason is stored
  /// in the history.
  train_end,
};

/// What a callback returns: whether the training continues, stops, or is interrupted. An
/// interrupted training stops and can be resumed later.
struct callback_result {
  enum class action : std::uint8_t { proceed, stop, interrupt };
  action next = action::proceed;
  std::string reason = {};
};
/// Continues the training. A callback that returns nothing has the same effect.
[[nodiscard]] inline callback_result keep_training() { return {}; }
/// Stops the training. The reason is stored in the history, as in "no better validation_loss for 5
/// epochs".
[[nodiscard]] inline callback_result stop_training(std::string reason) {
  return {callback_result::action::stop, std::move(reason)};
}
/// Stops the training so that it can be resumed later. The reason is stored in the history.
[[nodiscard]] inline callback_result interrupt_training(std::string reason) {
  return {callback_result::action::interrupt, std::move(reason)};
}

/// The progress while a model's frozen layers process the samples of a data set.
struct frozen_pass {
  std::string name;              ///< Name of the data set: "training" or "validation".
  std::size_t samples_done = 0;  ///< Number of samples processed; 0 at the start of the pass.
  std::size_t sample_count = 0;  ///< Number of samples of the data set.
  std::size_t bytes = 0;         ///< Bytes of the outputs of all samples.
  bool in_memory = true;         ///< Whether the outputs are kept in memory, not in a file.
};

/// The memory that a training uses, in bytes.
struct training_memory {
  std::size_t parameters = 0;       ///< Bytes of the parameters, with running statistics.
  std::size_t optimizer_state = 0;  ///< Bytes of the optimizer's state, such as Adam's moments.
  std::size_t graph = 0;        ///< Bytes of working memory of the largest recorded training step.
  std::size_t batch_tiles = 0;  ///< Bytes of working memory of batch tiles in a step.
};

/// The training as a callback sees it at an event. It is valid only during the call of the
/// callback.
struct training {
  training(const training&) = delete;
  training& operator=(const training&) = delete;

  glia::event event = glia::event::train_begin;
  const model_plan& plan;        ///< Plan of the model.
  const shape& sample_shape;     ///< Shape of the model's inputs, without the batch axis.
  const glia::history& history;  ///< Results of the epochs that have ended.
  std::size_t rank = 0;  ///< Rank of this process, from 0, if several processes train together.
  std::size_t rank_count = 1;  ///< Number of processes that train together.
  bool resume = false;         ///< Whether `fit` was called with `.resume = true`.
  std::size_t batch_size = 0;
  std::size_t epochs = 0;  ///< Number of epochs passed to `fit`, including epochs before a resume.
  std::size_t epoch = 0;   ///< Number of the current epoch, from 1; between epochs: of the last.
  std::size_t step = 0;    ///< Number of training steps taken, in all calls of `fit`.
  std::size_t samples_done = 0;   ///< Number of samples done in the current epoch.
  std::size_t epoch_samples = 0;  ///< Number of samples of a whole epoch.
  /// Progress of the pass through the frozen layers at `event::frozen_pass`, otherwise null.
  const glia::frozen_pass* frozen_pass = nullptr;

  /// The mean loss of the epoch so far. May wait for the device.
  [[nodiscard]] virtual double loss() const = 0;
  /// The mean loss of the batch of the last step, measured before this step changed the parameters.
  /// 0 if the epoch had no step in this call of `fit`. May wait for the device.
  [[nodiscard]] virtual double step_loss() const = 0;
  /// The learning rate of the last step. Before the first step: the learning rate of that step.
  [[nodiscard]] virtual double learning_rate() const = 0;

  /// A copy of everything that is needed to resume the training.
  [[nodiscard]] virtual training_state state() const = 0;
  /// Continues from a saved state. Throws `value_error`, and changes nothing, if the event is not
  /// `event::train_begin`, or if the state belongs to another model, optimizer or backend.
  virtual void restore(const training_state& saved) const = 0;

  /// Copies of the model's parameters.
  [[nodiscard]] virtual std::vector<named_tensor> parameters() const = 0;
  /// Replaces all parameters. Throws `value_error`, and changes nothing, if a name or a shape
  /// differs from the result of `parameters()`.
  virtual void set_parameters(std::span<const named_tensor> values) const = 0;

  /// Multiplies the learning rate by a factor, from the next step on. Throws `value_error` if the
  /// factor is not positive and finite, or if the optimizer has no learning rate.
  virtual void scale_learning_rate(double factor) const = 0;

  /// Repeats the steps since the state `earlier`, and describes the first step and kernel whose
  /// result is not finite. `earlier` must be a state of this epoch or of the epoch before. The
  /// model is left in the state before that step, and the callback must then stop the training. If
  /// several ranks train together, all of them have to call this function at the same event.
  [[nodiscard]] virtual std::string trace_not_finite(const training_state& earlier) const = 0;

  [[nodiscard]] virtual training_memory memory() const = 0;

  /// Records the duration of each kernel of the following steps in `times`, which must outlive
  /// them. A null pointer ends the recording.
  virtual void record_timeline(timeline* times) const = 0;

  /// Adds a line to history::notes, which fit_options::progress prints.
  virtual void add_note(const std::string& line) const = 0;

  /// Tensors that callbacks store. They are saved and restored with the state of the training. Each
  /// name begins with the name of the callback.
  [[nodiscard]] virtual std::vector<named_tensor>& callback_state() const = 0;

 protected:
  training(const model_plan& model, const shape& sample, const glia::history& results)
      : plan(model), sample_shape(sample), history(results) {}
  ~training() = default;
};

/// A function that is called at the events of a training: anything that can be called with a
/// `training` and that returns a `callback_result` or nothing. The callable is copied; wrap it in
/// `std::ref` to read its members afterwards. `fit` does not catch its exceptions.
///
/// A callback with `static constexpr bool runs_last = true` is called after all callbacks without
/// this member, in whatever order they are listed. It therefore sees their changes.
///
/// If several ranks train together, each rank calls its own callbacks. All ranks see the same
/// losses and metrics. A callback that prints or writes files should be called only on rank 0. It
/// then needs `static constexpr bool first_rank_only = true`. If a callback of any rank stops the
/// training, all ranks stop at the same event. A callback that changes the training has to make the
/// same change on all ranks.
class callback {
 public:
  template <std::invocable<const training&> Call>
  requires(!std::same_as<std::remove_cvref_t<Call>, callback>) callback(Call call)
      : call_(with_result(std::move(call))),
        runs_last_(last<Call>()),
        first_rank_only_(requires { requires Call::first_rank_only; }) {}

  callback_result operator()(const training& t) const { return call_(t); }
  [[nodiscard]] bool runs_last() const { return runs_last_; }
  [[nodiscard]] bool first_rank_only() const { return first_rank_only_; }

 private:
  template <class Call>
  static std::function<callback_result(const training&)> with_result(Call call) {
    using result = std::invoke_result_t<Call&, const training&>;
    static_assert(std::same_as<result, void> || std::same_as<result, callback_result>,
                  "expected a callback that returns nothing or a glia::callback_result, such as "
                  "glia::keep_training() or glia::stop_training(\"why\")");
    if constexpr (std::same_as<result, void>) {
      return [call = std::move(call)](const training& t) mutable {
        call(t);
        return keep_training();
      };
    } else {
      return call;
    }
  }
  template <class Call>
  static constexpr bool last() {
    if constexpr (requires { Call::runs_last; }) {
      return Call::runs_last;
    }
    return false;
  }

  std::function<callback_result(const training&)> call_;
  bool runs_last_;
  bool first_rank_only_;
};

/// A callback for one event:
///
///     glia::on_event(glia::event::epoch_end, [](const glia::training& t) { ... })
template <class Call>
[[nodiscard]] callback on_event(event expected, Call call) {
  callback any_event(std::move(call));
  return [expected, any_event](const training& t) {
    return t.event == expected ? any_event(t) : keep_training();
  };
}

}  // namespace glia
