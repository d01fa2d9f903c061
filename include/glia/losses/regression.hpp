#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "glia/core/described.hpp"
#include "glia/losses/targets.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// (y - t)^2, averaged over a sample's outputs.
struct mean_squared_error {
  static constexpr bool nears_targets = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(const variable<B>& y, const targets<B>& t) const {
    const variable<B> values =
        y.owner().constant(detail::target_values("mean_squared_error", y, t));
    return ops::mean_per_sample(ops::square(y - values));
  }
  [[nodiscard]] std::string description() const { return "mean_squared_error"; }
  friend bool operator==(const mean_squared_error&, const mean_squared_error&) = default;
};

/// |y - t|, averaged over a sample's outputs.
struct mean_absolute_error {
  static constexpr bool nears_targets = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(const variable<B>& y, const targets<B>& t) const {
    const variable<B> values =
        y.owner().constant(detail::target_values("mean_absolute_error", y, t));
    return ops::mean_per_sample(ops::absolute(y - values));
  }
  [[nodiscard]] std::string description() const { return "mean_absolute_error"; }
  friend bool operator==(const mean_absolute_error&, const mean_absolute_error&) = default;
};

/// e^2 / 2 for an error |e| <= delta, delta (|e| - delta / 2) beyond, averaged over a sample's
/// outputs. Huber, Annals of Mathematical Statistics, 1964.
///
/// Throws `value_error` for a delta that is not positive.
struct huber {
  double delta = 1;  ///< > 0

  static constexpr bool nears_targets = true;

  template <backend B>
  [[nodiscard]] variable<B> operator()(const variable<B>& y, const targets<B>& t) const {
    require<value_error>(delta > 0 && std::isfinite(delta),
                         "huber: expected a positive delta, got ", delta);
    const variable<B> values = y.owner().constant(detail::target_values("huber", y, t));
    const variable<B> error = ops::absolute(y - values);
    const variable<B> bounded = ops::clamp(error, 0, delta);
    return ops::mean_per_sample(bounded * (error - 0.5 * bounded));
  }
  [[nodiscard]] std::string description() const { return text("huber(", delta, ')'); }
  friend bool operator==(const huber&, const huber&) = default;
};

/// max(1 - t y, 0), averaged over a sample's outputs. Targets are -1 or 1; classes become 1 at the
/// class and -1 elsewhere.
struct hinge {
  static constexpr std::string_view target_range = "-1 and 1";
  static constexpr bool takes_target(float t) { return t == -1 || t == 1; }

  template <backend B>
  [[nodiscard]] variable<B> operator()(const variable<B>& y, const targets<B>& t) const {
    const variable<B> values = y.owner().constant(detail::target_values("hinge", y, t, 1, -1));
    return ops::mean_per_sample(ops::unary({unary_function::relu}, ops::affine(values * y, -1, 1)));
  }
  [[nodiscard]] std::string description() const { return "hinge"; }
  friend bool operator==(const hinge&, const hinge&) = default;
};

}  // namespace glia
