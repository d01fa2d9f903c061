#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/error.hpp"

namespace glia {

/// What is done to the gradients of a step before the optimizer sees them. A property of training
/// and not of the update rule, since the norm is that of all parameters together.
struct gradient_clipping {
  double value = 0;  ///< every element is brought into [-value, value]; 0: off
  double norm =
      0;  ///< all gradients are scaled so that their joint L2 norm is at most this; 0: off

  friend constexpr bool operator==(const gradient_clipping&, const gradient_clipping&) = default;
};

namespace detail {

[[nodiscard]] constexpr double positive_bound(const char* name, double bound) {
  if (!(bound > 0) || bound > std::numeric_limits<double>::max()) {
    throw value_error(text(name, ": expected a positive finite bound, got ", bound,
                           "; without clipping, leave it out"));
  }
  return bound;
}

}  // namespace detail

/// Bounds every element. Throws `value_error` for a bound that is not positive and finite.
[[nodiscard]] constexpr gradient_clipping clip_by_value(double value) {
  return {.value = detail::positive_bound("clip_by_value", value)};
}
/// Pascanu, Mikolov and Bengio, ICML 2013, algorithm 1, with the norm over all parameters.
/// Throws `value_error` for a bound that is not positive and finite.
[[nodiscard]] constexpr gradient_clipping clip_by_norm(double norm) {
  return {.norm = detail::positive_bound("clip_by_norm", norm)};
}

/// Clips by value first, then by norm. The scale stays on the device: no number is read back.
template <backend B>
void clip(const gradient_clipping& clipping, const B& device,
          std::vector<typename B::tensor>& gradients) {
  require<value_error>(clipping.value >= 0 && clipping.norm >= 0 && std::isfinite(clipping.value) &&
                           std::isfinite(clipping.norm),
                       "gradient_clipping: expected finite bounds of at least 0, got ",
                       clipping.value, " and ", clipping.norm);
  using tensor = typename B::tensor;
  if (clipping.value > 0) {
    for (tensor& g : gradients) {
      if (g) {
        g = device.run(kernels::unary{{unary_function::clamp, -clipping.value, clipping.value}},
                       std::move(g));
      }
    }
  }
  if (clipping.norm > 0) {
    tensor total = device.run(kernels::full{{}, 0});
    for (const tensor& g : gradients) {
      if (g) {
        total = device.run(kernels::binary{binary_function::add}, std::move(total),
                           device.run(kernels::sum_to{{}},
                                      device.run(kernels::unary{{unary_function::square}}, g)));
      }
    }
    // scale = norm / max(|g|, norm)
    const tensor length =
        device.run(kernels::binary{binary_function::maximum},
                   device.run(kernels::unary{{unary_function::square_root}}, std::move(total)),
                   device.run(kernels::full{{}, clipping.norm}));
    const tensor scale = device.run(kernels::binary{binary_function::divide},
                                    device.run(kernels::full{{}, clipping.norm}), length);
    for (tensor& g : gradients) {
      if (g) {
        g = device.run(kernels::binary{binary_function::multiply}, std::move(g), scale);
      }
    }
  }
}

}  // namespace glia
