#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <numbers>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"

namespace glia {

/// A learning rate as a function of the step, counted from 0 over the whole training. A number is a
/// constant schedule, and so is any callable `double(std::size_t step)` a schedule.
///
/// Schedules are compared and printed by their descriptions; two of a user's own callables are
/// equal only as copies of each other.
///
/// Throws `value_error` for a rate that is negative or not finite: a number's at once, a function's
/// when it gives it.
class schedule {
 public:
  schedule(double rate) : schedule(text(rate), [rate](std::size_t) { return rate; }) {
    (void)(*this)(0);
  }

  template <std::invocable<std::size_t> Function>
  requires(!std::same_as<Function, schedule>) schedule(Function rate)
      : schedule("custom", std::move(rate)) {}

  schedule(std::string description, std::function<double(std::size_t)> rate)
      : description_(std::move(description)),
        rate_(std::make_shared<const std::function<double(std::size_t)>>(std::move(rate))) {
    require<value_error>(*rate_ != nullptr, "learning rate ", description_,
                         ": expected a function of the step, got an empty one");
  }

  /// The learning rate of a step.
  [[nodiscard]] double operator()(std::size_t step) const {
    const double rate = (*rate_)(step);
    require<value_error>(std::isfinite(rate) && rate >= 0, "learning rate ", description_,
                         ": expected a finite number of at least 0, got ", rate, " at step ", step);
    require<value_error>(rate <= std::numeric_limits<float>::max(), "learning rate ", description_,
                         ": ", rate, " at step ", step, " does not fit a float");
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

namespace detail {

/// Throws `value_error` for a rate, or a factor of one, that is negative or not finite.
inline void require_rates(std::string_view schedule, std::initializer_list<double> values) {
  for (const double value : values) {
    require<value_error>(value >= 0 && std::isfinite(value), schedule,
                         ": expected rates and factors that are finite and at least 0, got ",
                         value);
  }
}

}  // namespace detail

/// rate * factor^floor(step / every)
[[nodiscard]] inline schedule step_decay(double rate, double factor, std::size_t every) {
  require<value_error>(every > 0, "step_decay: expected a positive number of steps");
  detail::require_rates("step_decay", {rate, factor});
  return {text("step_decay(", rate, ", factor ", factor, " every ", every, " steps)"),
          [=](std::size_t step) {
            return rate * std::pow(factor, std::floor(static_cast<double>(step) /
                                                      static_cast<double>(every)));
          }};
}

/// rate * factor^(step / every), without steps.
[[nodiscard]] inline schedule exponential_decay(double rate, double factor, std::size_t every = 1) {
  require<value_error>(every > 0, "exponential_decay: expected a positive number of steps");
  detail::require_rates("exponential_decay", {rate, factor});
  return {text("exponential_decay(", rate, ", factor ", factor, " per ", every, " steps)"),
          [=](std::size_t step) {
            return rate * std::pow(factor, static_cast<double>(step) / static_cast<double>(every));
          }};
}

/// From `rate` to `last` along half a cosine, and `last` from step `steps` on. Loshchilov and
/// Hutter, ICLR 2017, eq. 5 without restarts.
[[nodiscard]] inline schedule cosine_decay(double rate, std::size_t steps, double last = 0) {
  require<value_error>(steps > 0, "cosine_decay: expected a positive number of steps");
  detail::require_rates("cosine_decay", {rate, last});
  return {
      text("cosine_decay(", rate, " to ", last, " in ", steps, " steps)"), [=](std::size_t step) {
        const double done = static_cast<double>(std::min(step, steps)) / static_cast<double>(steps);
        return last + (rate - last) * 0.5 * (1 + std::cos(std::numbers::pi * done));
      }};
}

/// Linearly from `first` to the start of `then` over `steps` steps, then `then` from its beginning.
[[nodiscard]] inline schedule linear_warm_up(std::size_t steps, const schedule& then,
                                             double first = 0) {
  detail::require_rates("linear_warm_up", {first});
  return {text("linear_warm_up(", steps, " steps from ", first, ", then ", then, ")"),
          [=](std::size_t step) {
            if (step >= steps) {
              return then(step - steps);
            }
            const double done = static_cast<double>(step) / static_cast<double>(steps);
            return first + (then(0) - first) * done;
          }};
}

}  // namespace glia
