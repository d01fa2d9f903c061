#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "glia/core/described.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Mean squared error: (y - t)^2, averaged over the outputs of a sample.
///
/// Targets are values with the shape of the outputs, (N, ...), or classes (N). A class becomes a
/// row with 1 at the class and 0 elsewhere. For a single output (N, 1), the classes 0 and 1 are the
/// values. Throws `shape_error` if the shapes do not match.
struct mean_squared_error {
  static constexpr bool is_regression = true;

  [[nodiscard]] variable operator()(const variable& y, const targets& t) const {
    const variable values = y.owner().constant(detail::target_values("mean_squared_error", y, t));
    return ops::mean_per_sample(ops::square(y - values));
  }
  [[nodiscard]] std::string description() const { return "mean_squared_error"; }
  friend bool operator==(const mean_squared_error&, const mean_squared_error&) = default;
};

/// Mean absolute error: |y - t|, averaged over the outputs of a sample.
///
/// Targets are values with the shape of the outputs, (N, ...), or classes (N). A class becomes a
/// row with 1 at the class and 0 elsewhere. For a single output (N, 1), the classes 0 and 1 are the
/// values. Throws `shape_error` if the shapes do not match.
struct mean_absolute_error {
  static constexpr bool is_regression = true;

  [[nodiscard]] variable operator()(const variable& y, const targets& t) const {
    const variable values = y.owner().constant(detail::target_values("mean_absolute_error", y, t));
    return ops::mean_per_sample(ops::abs(y - values));
  }
  [[nodiscard]] std::string description() const { return "mean_absolute_error"; }
  friend bool operator==(const mean_absolute_error&, const mean_absolute_error&) = default;
};

/// Huber loss: quadratic for small errors and linear for large ones, averaged over the outputs of a
/// sample.
///
///     e^2 / 2                   for |e| <= delta, where e = y - t
///     delta (|e| - delta / 2)   otherwise
///
/// Targets are values with the shape of the outputs, (N, ...), or classes (N). A class becomes a
/// row with 1 at the class and 0 elsewhere. For a single output (N, 1), the classes 0 and 1 are the
/// values. Huber, Annals of Mathematical Statistics, 1964.
///
/// Throws `shape_error` if the shapes do not match, and `value_error` if `delta` is not positive
/// and finite.
struct huber {
  double delta = 1;  ///< Error at which the loss becomes linear, above 0.

  static constexpr bool is_regression = true;

  [[nodiscard]] variable operator()(const variable& y, const targets& t) const {
    require<value_error>(delta > 0 && std::isfinite(delta),
                         "huber: expected a positive, finite delta, got ", delta);
    const variable values = y.owner().constant(detail::target_values("huber", y, t));
    const variable error = ops::abs(y - values);
    const variable bounded = ops::clamp(error, 0, delta);
    return ops::mean_per_sample(bounded * (error - 0.5 * bounded));
  }
  [[nodiscard]] std::string description() const { return text("huber(", delta, ')'); }
  friend bool operator==(const huber&, const huber&) = default;
};

/// Hinge loss: max(1 - t y, 0), averaged over the outputs of a sample.
///
/// Targets are -1 or 1 with the shape of the outputs, (N, ...), or classes (N). A class becomes a
/// row with 1 at the class and -1 elsewhere. For a single output (N, 1), the classes 0 and 1 become
/// -1 and 1. Keras also converts target values of 0 to -1; glia does not.
///
/// Throws `shape_error` if the shapes do not match. Training and evaluation throw `data_error` if a
/// target value is neither -1 nor 1.
struct hinge {
  static constexpr std::string_view target_range = "-1 and 1";
  static constexpr bool accepts_target(float t) { return t == -1 || t == 1; }

  [[nodiscard]] variable operator()(const variable& y, const targets& t) const {
    const variable values = y.owner().constant(detail::target_values("hinge", y, t, 1, -1));
    return ops::mean_per_sample(ops::unary({unary_function::relu}, ops::affine(values * y, -1, 1)));
  }
  [[nodiscard]] std::string description() const { return "hinge"; }
  friend bool operator==(const hinge&, const hinge&) = default;
};

}  // namespace glia
