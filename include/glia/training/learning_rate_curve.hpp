#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// The losses of training steps with a growing learning rate. `find_learning_rate` returns it.
struct learning_rate_curve {
  std::vector<double> rates;   ///< Learning rate of each step.
  std::vector<double> losses;  ///< Mean loss of the batch of each step.
  /// Losses, smoothed by an exponential moving average whose start is corrected as in Adam.
  std::vector<double> smoothed_losses;

  /// Returns the rate at which the smoothed loss falls fastest over the logarithm of the rate.
  /// Ignores the first `skip_begin` steps, whose average is of few batches, and the last
  /// `skip_end` steps. Throws `value_error` if the loss falls at none of the other steps.
  [[nodiscard]] double suggestion(std::size_t skip_begin = 10, std::size_t skip_end = 1) const {
    double steepest = 0;
    double rate = 0;
    for (std::size_t i = skip_begin + 1; i + 1 + skip_end < rates.size(); ++i) {
      const double slope =
          (smoothed_losses[i + 1] - smoothed_losses[i - 1]) / std::log(rates[i + 1] / rates[i - 1]);
      if (slope < steepest) {
        steepest = slope;
        rate = rates[i];
      }
    }
    require<value_error>(rate > 0, "learning_rate_curve: expected a loss that falls, but it falls ",
                         "nowhere between the first ", skip_begin, " and the last ", skip_end,
                         " of ", rates.size(),
                         " steps; begin with a lower first_rate, take more steps, or check the "
                         "data and the loss");
    return rate;
  }
};

}  // namespace glia
