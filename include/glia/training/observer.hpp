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

#include "glia/core/function_ref.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/core/shape.hpp"
#include "glia/graph/timeline.hpp"
#include "glia/layers/plan.hpp"
#include "glia/training/history.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

/// The moments of a training that its observers are told of.
enum class moment : std::uint8_t {
  begins,        ///< before all else; a training that is gone on with is restored here
  frozen_pass,   ///< some more samples went through the frozen layers, ahead of the first epoch
  epoch_begins,  ///< or is gone on with
  step,          ///< after each step
  validation,    ///< the steps of an epoch are taken, and its validation begins, if there is one
  epoch,         ///< an epoch is over, and its record is the last one of the result
  ends,  ///< after all else; not where an exception ends the training. A verdict counts only
         ///< where a training is gone on with of which no epoch was left
};

/// What an observer makes of a moment: the training goes on, stops, or is interrupted, that is
/// stops where it is to be gone on with later.
struct verdict {
  enum class kind : std::uint8_t { go_on, stop, interrupt };
  kind what = kind::go_on;
  std::string reason = {};
};
/// Nothing is to be done.
[[nodiscard]] inline verdict go_on() { return {}; }
/// The reason goes into the history: "no better validation_loss for 5 epochs".
[[nodiscard]] inline verdict stop(std::string reason) {
  return {verdict::kind::stop, std::move(reason)};
}
/// Ends the training, to be gone on with later; `reason` stands in its history.
[[nodiscard]] inline verdict interrupt(std::string reason) {
  return {verdict::kind::interrupt, std::move(reason)};
}

/// How far the samples of a data set are on their way through a model's frozen layers.
struct frozen_pass {
  std::string name;         ///< of the data set: training
  std::size_t done = 0;     ///< samples; 0 as the pass begins
  std::size_t samples = 0;  ///< of the data set
  std::size_t bytes = 0;    ///< that all of their outputs take
  bool in_memory = true;    ///< rather than in a file
};

/// What a training keeps in memory, in bytes.
struct training_memory {
  std::size_t parameters = 0;  ///< running statistics included
  std::size_t slots = 0;       ///< what the optimizer keeps
  std::size_t step = 0;        ///< what the largest recorded step needs while it runs
  std::size_t lanes = 0;       ///< and its lanes
};

/// What observers can ask of a training and change in it, whatever it runs on.
struct training_access {
  function_ref<double()> loss;
  function_ref<training_state()> state;
  function_ref<void(const training_state&)> restore;
  function_ref<std::vector<named_tensor>()> parameters;
  function_ref<void(std::span<const named_tensor>)> set_parameters;
  function_ref<void(double)> scale_rate;
  function_ref<std::string(const training_state&)> trace_not_finite;
  function_ref<training_memory()> memory;
  function_ref<void(timeline*)> watch;
  function_ref<void(const std::string&)> note;
  function_ref<std::vector<named_tensor>&()> kept;
};

/// A training at one of its moments, as its observers see it. Refers to what lasts for that moment
/// only.
struct training {
  moment at;
  const model_plan& plan;  ///< of the model
  const shape& sample;     ///< shape of what the model takes
  const history& result;   ///< so far: the epochs that are over
  const training_access& access;
  std::size_t rank = 0;   ///< of this process, where several train together
  std::size_t ranks = 1;  ///< how many do
  bool resume = false;    ///< whether fit was asked to go on with what was left undone
  std::size_t batch_size = 0;
  std::size_t epochs = 0;   ///< that fit was asked for, those before a resume included
  std::size_t epoch = 0;    ///< the one in progress, or the last one that was, from 1
  std::size_t step = 0;     ///< steps taken, in all calls of fit
  std::size_t done = 0;     ///< samples of the epoch
  std::size_t samples = 0;  ///< of the whole epoch
  /// At `moment::frozen_pass`, else null.
  const frozen_pass* pass = nullptr;

  /// The mean loss of the epoch so far. May have to wait for the device.
  [[nodiscard]] double loss() const { return access.loss(); }

  /// All that the training needs to be gone on with: a copy.
  [[nodiscard]] training_state state() const { return access.state(); }
  /// Goes on from such a state instead; at `moment::begins` only. Throws `value_error`, and changes
  /// nothing, for the state of another model, optimizer or backend.
  void restore(const training_state& from) const { access.restore(from); }

  /// The model's parameters, and others for them: all of them, by the same names and shapes, or
  /// `value_error` is thrown and nothing changed.
  [[nodiscard]] std::vector<named_tensor> parameters() const { return access.parameters(); }
  void set_parameters(std::span<const named_tensor> values) const { access.set_parameters(values); }

  /// Multiplies the learning rate by a factor, from the next step on. Throws `value_error` for one
  /// that is not positive and finite, and for optimizers that cannot.
  void scale_rate(double factor) const { access.scale_rate(factor); }

  /// Takes the steps since an earlier state of this epoch or the one before again, kernel by kernel
  /// where a number stops being finite, and says where that is; the training is left before that
  /// step and must then be stopped. Where several ranks train, all have to ask at the same moment.
  [[nodiscard]] std::string trace_not_finite(const training_state& from) const {
    return access.trace_not_finite(from);
  }

  [[nodiscard]] training_memory memory() const { return access.memory(); }

  /// From now on, steps write down in the timeline what took how long; null: no more. It must last
  /// as long.
  void watch(timeline* times) const { access.watch(times); }

  /// Adds a line to history::notes, which fit_options::progress shows.
  void note(const std::string& line) const { access.note(line); }

  /// What observers remember between moments and want to be a part of the training's state: it is
  /// there again when an interrupted training is gone on with. Names begin with the observer's.
  [[nodiscard]] std::vector<named_tensor>& kept() const { return access.kept(); }
};

/// Something that is told of a training's moments: anything that can be called with one, and that
/// returns a verdict or nothing. What it throws comes out of fit.
///
/// An observer that says `static constexpr bool after_others = true` is told after those that do
/// not, whatever the order in which they are given, and finds what these have changed.
///
/// Where several ranks train together each has its observers, which are told of the same numbers.
/// One that says `static constexpr bool first_rank_only = true`, as it writes or prints, is told on
/// the first rank alone. Whatever rank stops the training, it ends at the same moment on all; what
/// an observer changes in it, all have to change alike.
class observer {
 public:
  template <std::invocable<const training&> Call>
  requires(!std::same_as<std::remove_cvref_t<Call>, observer>) observer(Call call)
      : call_(as_verdict(std::move(call))),
        after_others_(comes_last<Call>()),
        first_rank_only_(requires { requires Call::first_rank_only; }) {}

  verdict operator()(const training& t) const { return call_(t); }
  [[nodiscard]] bool after_others() const { return after_others_; }
  [[nodiscard]] bool first_rank_only() const { return first_rank_only_; }

 private:
  template <class Call>
  static std::function<verdict(const training&)> as_verdict(Call call) {
    using result = std::invoke_result_t<Call&, const training&>;
    static_assert(std::same_as<result, void> || std::same_as<result, verdict>,
                  "expected an observer that returns glia::verdict (glia::go_on(), "
                  "glia::stop(\"why\")) or nothing");
    if constexpr (std::same_as<result, void>) {
      return [call = std::move(call)](const training& t) mutable {
        call(t);
        return go_on();
      };
    } else {
      return call;
    }
  }
  template <class Call>
  static constexpr bool comes_last() {
    if constexpr (requires { Call::after_others; }) {
      return Call::after_others;
    }
    return false;
  }

  std::function<verdict(const training&)> call_;
  bool after_others_;
  bool first_rank_only_;
};

/// An observer of one moment alone:
///
///     glia::on(glia::moment::epoch, [](const glia::training& t) { ... })
template <class Call>
[[nodiscard]] observer on(moment which, Call call) {
  observer all(std::move(call));
  return [which, all](const training& t) { return t.at == which ? all(t) : go_on(); };
}

}  // namespace glia
