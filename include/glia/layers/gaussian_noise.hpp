#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/noise.hpp"

namespace glia {

/// While training, adds normally distributed noise of mean 0; otherwise passes its input on. The
/// noise is a function of the model's seed, the step and the element, the same on every backend.
///
/// Throws `value_error` for a deviation outside its range.
struct gaussian_noise {
  double deviation = 0;  ///< standard deviation; finite, at least 0

  static constexpr std::string_view type_name = "gaussian_noise";
  static constexpr bool hands_on = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect_value(deviation >= 0 && std::isfinite(deviation),
                   "expected a finite standard deviation of at least 0");
    if (!s.training() || deviation == 0) {
      return x;
    }
    return ops::gaussian_noise(std::move(x), deviation, s.next_random());
  }
  [[nodiscard]] std::string description() const { return text("gaussian_noise(", deviation, ')'); }
  friend bool operator==(const gaussian_noise&, const gaussian_noise&) = default;
};

}  // namespace glia
