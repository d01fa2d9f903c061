#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>

#include "glia/core/error.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/trainer.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/fit_options.hpp"
#include "glia/training/learning_rate_curve.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

/// The options of `find_learning_rate`. The defaults are those of fastai.
struct find_learning_rate_options {
  double first_rate = 1e-7;     ///< Learning rate of the first step, positive and finite.
  double last_rate = 10;        ///< Learning rate of the last step, above `first_rate` and finite.
  std::size_t steps = 100;      ///< Number of training steps, at least 2.
  std::size_t batch_size = 32;  ///< Samples in a batch, at least 1; as in the later training.
  /// Weight of the earlier losses in the smoothed loss, in [0, 1).
  double smoothing = 0.98;
  /// The search ends early when the smoothed loss exceeds its minimum by this factor; above 1. Not
  /// used if the minimum is not positive.
  double divergence_factor = 4;
};

namespace detail {

/// A callback that lets the learning rate grow exponentially, and collects the losses.
class learning_rate_sweep {
 public:
  learning_rate_sweep(const find_learning_rate_options& options, learning_rate_curve& curve)
      : options_(options), curve_(curve) {
    require<value_error>(
        options.first_rate > 0 && options.last_rate > options.first_rate &&
            std::isfinite(options.last_rate),
        "find_learning_rate: expected a positive first_rate and a finite last_rate above it, got ",
        options.first_rate, " and ", options.last_rate);
    require<value_error>(options.steps >= 2, "find_learning_rate: expected at least 2 steps, got ",
                         options.steps);
    require<value_error>(options.smoothing >= 0 && options.smoothing < 1,
                         "find_learning_rate: expected a smoothing in [0, 1), got ",
                         options.smoothing);
    require<value_error>(options.divergence_factor > 1,
                         "find_learning_rate: expected a divergence_factor above 1, got ",
                         options.divergence_factor);
  }

  callback_result operator()(const training& t) {
    if (t.event == event::epoch_begin && curve_.rates.empty()) {
      set_rate(t);
    }
    return t.event == event::train_batch_end ? add_step(t) : keep_training();
  }

 private:
  callback_result add_step(const training& t) {
    const double loss = t.step_loss();
    average_ = options_.smoothing * average_ + (1 - options_.smoothing) * loss;
    const auto count = static_cast<double>(curve_.rates.size() + 1);
    const double smoothed = average_ / (1 - std::pow(options_.smoothing, count));
    if (!std::isfinite(smoothed)) {
      return stop_training("the loss is not finite");
    }
    curve_.rates.push_back(t.learning_rate());
    curve_.losses.push_back(loss);
    curve_.smoothed_losses.push_back(smoothed);
    lowest_ = std::min(lowest_, smoothed);
    const bool diverges = lowest_ > 0 && smoothed > options_.divergence_factor * lowest_;
    if (curve_.rates.size() == options_.steps || diverges) {
      return stop_training("the search is complete");
    }
    set_rate(t);
    return keep_training();
  }

  /// Sets the rate of the next step.
  void set_rate(const training& t) const {
    const double share =
        static_cast<double>(curve_.rates.size()) / static_cast<double>(options_.steps - 1);
    const double rate =
        options_.first_rate * std::pow(options_.last_rate / options_.first_rate, share);
    const double current = t.learning_rate();
    require<value_error>(
        current > 0,
        "find_learning_rate: expected an optimizer with a positive learning rate, got ", current,
        " in step ", t.step, "; give the trainer a constant learning rate for the search");
    t.scale_learning_rate(rate / current);
  }

  const find_learning_rate_options& options_;
  learning_rate_curve& curve_;
  double average_ = 0;
  double lowest_ = std::numeric_limits<double>::infinity();
};

}  // namespace detail

/// Trains for some steps with a learning rate that grows exponentially, and returns the losses.
///
///     const glia::learning_rate_curve curve = glia::find_learning_rate(trainer, train);
///     std::cout << curve.suggestion() << '\n';
///
/// A good learning rate is where the loss falls fastest, well below the rate at which it grows. The
/// rate of step i, counted from 0, is first_rate * (last_rate / first_rate)^(i / (steps - 1)). The
/// search ends early when the loss diverges or is not finite. After it, the model and the trainer
/// have the state from before, bit for bit, also if the search throws an error. The suggestion does
/// not change the trainer: make a trainer with the rate that you choose.
///
/// The trainer's optimizer should have a constant learning rate, whose value does not matter. With
/// a schedule, the rates deviate by the changes of the schedule from one step to the next.
/// `learning_rate_curve::rates` contains the rates of the steps. Ctrl-C ends the search; the result
/// then has the steps so far.
///
/// Throws `value_error` if an option is outside its range, or if the optimizer's learning rate is 0
/// or cannot be changed. Throws the errors of `trainer::fit`.
///
/// Source: Smith, "Cyclical learning rates for training neural networks", WACV 2017, section 3.3
/// (arXiv 2015).
template <class Model, class Loss, class Optimizer>
[[nodiscard]] learning_rate_curve find_learning_rate(
    trainer<Model, Loss, Optimizer>& trainer, const dataset_view& train,
    const find_learning_rate_options& options = {}) {
  learning_rate_curve curve;
  detail::learning_rate_sweep sweep(options, curve);
  const training_state before = trainer.state();
  try {
    // An epoch has at least one step. A cache for frozen layers would run them on all samples.
    trainer.fit(train, {.epochs = options.steps,
                        .batch_size = options.batch_size,
                        .progress = nullptr,
                        .callbacks = {std::ref(sweep)},
                        .frozen_outputs = {.cache = false}});
  } catch (...) {
    trainer.restore(before);
    throw;
  }
  trainer.restore(before);
  return curve;
}

}  // namespace glia
