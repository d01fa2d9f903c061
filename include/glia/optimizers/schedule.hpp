#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "glia/core/error.hpp"

namespace glia {

/// A learning rate as a function of the training step.
///
/// Steps are counted from 0 over the whole training. A number converts to a constant schedule, and
/// a callable `double(std::size_t step)` converts to a user-defined schedule:
///
///     glia::sgd{.learning_rate = [](std::size_t step) { return step < 1000 ? 0.1 : 0.01; }}
///
/// Schedules are compared and printed by their descriptions. Two user-defined schedules are equal
/// only if one is a copy of the other.
///
/// Throws `value_error` if a learning rate is negative, not finite or too large for a float. The
/// constructor checks a number; each call checks the result of a function.
class schedule {
 public:
  /// Makes a constant schedule.
  schedule(double rate) : schedule(text(rate), [rate](std::size_t) { return rate; }) {
    (void)(*this)(0);
  }

  /// Makes a schedule from a callable `double(std::size_t step)`.
  template <std::invocable<std::size_t> Function>
  requires(!std::same_as<Function, schedule>) schedule(Function rate)
      : schedule("custom", std::move(rate)) {}

  /// Makes a schedule with a description. Schedules are compared by their descriptions. Throws
  /// `value_error` if the function is empty.
  schedule(std::string description, std::function<double(std::size_t)> rate)
      : description_(std::move(description)),
        rate_(std::make_shared<const std::function<double(std::size_t)>>(std::move(rate))) {
    require<value_error>(*rate_ != nullptr, "learning rate ", description_,
                         ": expected a function of the step, got an empty std::function");
  }

  /// Returns the learning rate of a step.
  [[nodiscard]] double operator()(std::size_t step) const {
    const double rate = (*rate_)(step);
    require<value_error>(std::isfinite(rate) && rate >= 0, "learning rate ", description_,
                         ": expected a finite number of at least 0, got ", rate, " at step ", step);
    require<value_error>(rate <= std::numeric_limits<float>::max(), "learning rate ", description_,
                         ": expected a number within the range of float, got ", rate, " at step ",
                         step);
    return rate;
  }

  friend bool operator==(const schedule& a, const schedule& b) {
    return a.rate_ == b.rate_ || (a.description_ != "custom" && a.description_ == b.description_);
  }
  friend std::ostream& operator<<(std::ostream& out, const schedule& s) {
    return out << s.description_;
  }

 private:
  std::string description_;
  std::shared_ptr<const std::function<double(std::size_t)>> rate_;
};

/// Options of `exponential_decay`.
struct exponential_decay_options {
  /// Whether the learning rate decreases once every `decay_steps` steps, instead of at every step.
  bool staircase = false;
};

/// A learning rate that decreases exponentially, as with Keras's ExponentialDecay.
///
///     initial_learning_rate * decay_rate^(step / decay_steps)
///
/// With the option `staircase`, the exponent is rounded down to an integer. A step is one batch,
/// not one epoch. This schedule halves the rate every 1000 steps:
///
///     glia::sgd{glia::exponential_decay(0.1, 1000, 0.5, {.staircase = true})}
///
/// Throws `value_error` if `decay_steps` is 0, or if a rate is negative or not finite.
[[nodiscard]] schedule exponential_decay(double initial_learning_rate, std::size_t decay_steps,
                                         double decay_rate,
                                         const exponential_decay_options& options = {});

/// A learning rate that decreases along half a cosine.
///
/// It starts at `rate`, reaches `last` in step `steps` and remains there. `last` is a learning
/// rate; Keras's `alpha` is the fraction last / rate. Loshchilov and Hutter, ICLR 2017, eq. 5
/// without restarts.
///
/// Throws `value_error` if `steps` is 0, or if a rate is negative or not finite.
[[nodiscard]] schedule cosine_decay(double rate, std::size_t steps, double last = 0);

/// A learning rate that grows linearly before another schedule begins.
///
/// It grows from `first` in step 0 to the first rate of `next_schedule` in step `steps`. From there
/// on, the rate is the rate of `next_schedule`, whose steps are counted from 0 again.
///
/// Throws `value_error` if `first` is negative or not finite.
[[nodiscard]] schedule linear_warmup(std::size_t steps, const schedule& next_schedule,
                                     double first = 0);

/// Options of `one_cycle`.
struct one_cycle_options {
  double pct_start = 0.3;         ///< Fraction of the steps in which the rate grows, from 0 to 1.
  double div_factor = 25;         ///< The first rate is the largest rate divided by this, >= 1.
  double final_div_factor = 1e4;  ///< The last rate is the first rate divided by this, >= 1.
};

/// A learning rate that grows to `max_rate` and then falls far below its first value, each time
/// along half a cosine, as with PyTorch's OneCycleLR.
///
/// It starts at `max_rate` / `div_factor`, is `max_rate` after the fraction `pct_start` of the
/// steps, reaches its last value in step `steps` - 1 and remains there. The momentum of the
/// optimizer does not change.
///
///     glia::adam{glia::one_cycle(0.01, epochs * steps_per_epoch)}
///
/// Throws `value_error` if `steps` is less than 2, if a rate is negative or not finite, or if an
/// option is outside its range.
///
/// Source: Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large
/// Learning Rates", 2018.
[[nodiscard]] schedule one_cycle(double max_rate, std::size_t steps,
                                 const one_cycle_options& options = {});

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/optimizers/schedule_impl.hpp"
#endif
