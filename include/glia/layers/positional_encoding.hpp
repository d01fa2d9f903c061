#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "glia/layers/scope.hpp"
#include "glia/layers/step_table.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

/// Adds sinusoidal position encodings to sequences.
///
/// The input and output are (N, T, D): N samples, T steps, D features. With w = `max_wavelength`,
/// the layer adds sin(t / w^(2 i / D)) to feature 2 i of step t, and cos(t / w^(2 i / D)) to
/// feature 2 i + 1. KerasHub's SinePositionEncoding returns the same numbers without adding them to
/// the input. The layer has no parameters. Vaswani et al., NeurIPS 2017.
///
/// Throws `shape_error` if the input is not (N, T, D), and `value_error` if `max_wavelength` is
/// below 1 or not finite.
struct positional_encoding {
  /// Upper bound w of the wavelengths, in units of 2 pi steps; at least 1.
  double max_wavelength = 1e4;

  static constexpr std::string_view type_name = "positional_encoding";
  static constexpr bool runs_stepwise = true;

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() == 3, "expected sequences (N, T, C), got ", batch_text(x.shape()),
             "; add reshape{{T, C}} before it");
    s.expect_value(max_wavelength >= 1 && std::isfinite(max_wavelength),
                   "expected a finite max_wavelength of at least 1, got ", max_wavelength);
    const std::size_t features = x.shape()[2];
    return x + detail::step_table(s, x.shape()[1], features, [&](std::size_t t, std::size_t i) {
             const double angle = detail::step_angle(t, i / 2, features, max_wavelength);
             return i % 2 == 0 ? std::sin(angle) : std::cos(angle);
           });
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("max_wavelength", self.max_wavelength);
  }

  friend bool operator==(const positional_encoding&, const positional_encoding&) = default;
};

}  // namespace glia
