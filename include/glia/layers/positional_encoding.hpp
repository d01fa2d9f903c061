#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/layers/stream_recording.hpp"
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
    const std::size_t steps = s.stream() == nullptr ? x.shape()[1] : s.stream()->max_steps();
    const std::size_t features = x.shape()[2];
    std::vector<double> places(steps * features);
    for (std::size_t t = 0; t < steps; ++t) {
      for (std::size_t i = 0; i < features; ++i) {
        const double share = static_cast<double>(i - i % 2) / static_cast<double>(features);
        const double angle = static_cast<double>(t) / std::pow(max_wavelength, share);
        places[t * features + i] = i % 2 == 0 ? std::sin(angle) : std::cos(angle);
      }
    }
    const tensor table = s.device().from_host(std::span<const double>(places), {steps, features});
    return x + (s.stream() == nullptr ? table : s.stream()->rows_of(table));
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const positional_encoding&, const positional_encoding&) = default;
};

}  // namespace glia
