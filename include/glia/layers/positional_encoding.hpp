#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

/// Adds to each step of a sequence x (N, T, D) what tells where it stands: sin(t / w^(2 i / D)) to
/// feature 2 i and cos of the same to feature 2 i + 1. Vaswani et al., NeurIPS 2017.
///
/// Throws `shape_error` for inputs that are no sequences, `value_error` for a wavelength below 1.
struct positional_encoding {
  double longest_wavelength = 1e4;  ///< w, of 2 pi steps

  static constexpr std::string_view type_name = "positional_encoding";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, const variable<B>& x) const {
    s.expect(x.shape().rank() == 3, "expected sequences (N, T, C), got ", batch_text(x.shape()),
             "; add reshape{{T, C}} before it");
    s.expect_value(longest_wavelength >= 1 && std::isfinite(longest_wavelength),
                   "expected a finite longest_wavelength of at least 1");
    const std::size_t steps = x.shape()[1];
    const std::size_t features = x.shape()[2];
    std::vector<double> places(steps * features);
    for (std::size_t t = 0; t < steps; ++t) {
      for (std::size_t i = 0; i < features; ++i) {
        const double share = static_cast<double>(i - i % 2) / static_cast<double>(features);
        const double angle = static_cast<double>(t) / std::pow(longest_wavelength, share);
        places[t * features + i] = i % 2 == 0 ? std::sin(angle) : std::cos(angle);
      }
    }
    return x + s.device().from_host(std::span<const double>(places), {steps, features});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const positional_encoding&, const positional_encoding&) = default;
};

}  // namespace glia
