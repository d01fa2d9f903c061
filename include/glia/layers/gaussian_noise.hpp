#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/noise.hpp"

namespace glia {

/// Adds normally distributed noise with mean 0 during training.
///
/// In inference the layer returns its input. Inputs of every shape are accepted. The noise depends
/// only on the model's seed, the training step and the position of the element, so it is the same
/// on every device.
///
/// Throws `value_error` if `stddev` is negative or not finite.
struct gaussian_noise {
  double stddev = 0;  ///< Standard deviation of the noise, finite and at least 0.

  static constexpr std::string_view type_name = "gaussian_noise";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect_value(stddev >= 0 && std::isfinite(stddev),
                   "expected a finite stddev of at least 0, got ", stddev);
    if (!s.is_training() || stddev == 0) {
      return x;
    }
    return ops::gaussian_noise(std::move(x), stddev, s.next_random());
  }
  [[nodiscard]] std::string description() const { return text("gaussian_noise(", stddev, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("stddev", self.stddev);
  }

  friend bool operator==(const gaussian_noise&, const gaussian_noise&) = default;
};

}  // namespace glia
