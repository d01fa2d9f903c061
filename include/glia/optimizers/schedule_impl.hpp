#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <numbers>
#include <string>
#include <string_view>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/optimizers/schedule.hpp"

namespace glia {

namespace detail {

/// Throws `value_error` if a learning rate or a factor is negative or not finite.
GLIA_INLINE void require_rates(std::string_view schedule, std::initializer_list<double> values) {
  for (const double value : values) {
    require<value_error>(value >= 0 && std::isfinite(value), schedule,
                         ": expected rates and factors that are finite and at least 0, got ",
                         value);
  }
}

}  // namespace detail

GLIA_INLINE schedule exponential_decay(double initial_learning_rate, std::size_t decay_steps,
                                       double decay_rate,
                                       const exponential_decay_options& options) {
  require<value_error>(decay_steps > 0,
                       "exponential_decay: expected decay_steps of at least 1, got 0");
  detail::require_rates("exponential_decay", {initial_learning_rate, decay_rate});
  return {text("exponential_decay(", initial_learning_rate, ", ", decay_steps, " steps, ",
               decay_rate, options.staircase ? ", staircase)" : ")"),
          [=, staircase = options.staircase](std::size_t step) {
            const double decays = static_cast<double>(step) / static_cast<double>(decay_steps);
            return initial_learning_rate *
                   std::pow(decay_rate, staircase ? std::floor(decays) : decays);
          }};
}

GLIA_INLINE schedule cosine_decay(double rate, std::size_t steps, double last) {
  require<value_error>(steps > 0, "cosine_decay: expected at least 1 step, got 0");
  detail::require_rates("cosine_decay", {rate, last});
  return {
      text("cosine_decay(", rate, " to ", last, " in ", steps, " steps)"), [=](std::size_t step) {
        const double done = static_cast<double>(std::min(step, steps)) / static_cast<double>(steps);
        return last + (rate - last) * 0.5 * (1 + std::cos(std::numbers::pi * done));
      }};
}

GLIA_INLINE schedule linear_warmup(std::size_t steps, const schedule& next_schedule, double first) {
  detail::require_rates("linear_warmup", {first});
  return {text("linear_warmup(", steps, " steps from ", first, ", then ", next_schedule, ")"),
          [=](std::size_t step) {
            if (step >= steps) {
              return next_schedule(step - steps);
            }
            const double done = static_cast<double>(step) / static_cast<double>(steps);
            return first + (next_schedule(0) - first) * done;
          }};
}

GLIA_INLINE schedule one_cycle(double max_rate, std::size_t steps,
                               const one_cycle_options& options) {
  require<value_error>(steps >= 2, "one_cycle: expected at least 2 steps, got ", steps);
  detail::require_rates("one_cycle", {max_rate});
  require<value_error>(options.pct_start >= 0 && options.pct_start <= 1,
                       "one_cycle: expected a pct_start from 0 to 1, got ", options.pct_start);
  for (const double factor : {options.div_factor, options.final_div_factor}) {
    require<value_error>(factor >= 1 && std::isfinite(factor),
                         "one_cycle: expected finite factors of at least 1, got ", factor);
  }
  const double first = max_rate / options.div_factor;
  const double last = first / options.final_div_factor;
  const auto end = static_cast<double>(steps - 1);
  const double peak = std::clamp(options.pct_start * static_cast<double>(steps) - 1, 0.0, end);
  return {text("one_cycle(", first, " to ", max_rate, " to ", last, " in ", steps, " steps, ",
               options.pct_start, ")"),
          [=](std::size_t step) {
            const double position = std::min(static_cast<double>(step), end);
            const bool grows = position < peak;
            const double done = grows         ? position / peak
                                : end == peak ? 0
                                              : (position - peak) / (end - peak);
            const double origin = grows ? first : max_rate;
            const double target = grows ? max_rate : last;
            return target + (origin - target) * 0.5 * (1 + std::cos(std::numbers::pi * done));
          }};
}

}  // namespace glia
