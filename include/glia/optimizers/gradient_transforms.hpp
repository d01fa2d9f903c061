#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/error.hpp"

namespace glia {

/// Something that is done to the gradients of a step before the optimizer sees them. A property of
/// training and not of the update rule, since the norm is that of all parameters together.
struct gradient_transform {
  enum class kind : std::uint8_t { clip_by_value, clip_by_norm };

  kind what = kind::clip_by_norm;
  double bound = 0;

  friend constexpr bool operator==(const gradient_transform&, const gradient_transform&) = default;
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

/// Brings every element into [-bound, bound]. Throws `value_error` for a bound that is not positive
/// and finite.
[[nodiscard]] constexpr gradient_transform clip_by_value(double bound) {
  return {gradient_transform::kind::clip_by_value, detail::positive_bound("clip_by_value", bound)};
}
/// Scales all gradients so that their joint L2 norm is at most `bound`. Pascanu, Mikolov and
/// Bengio, ICML 2013, algorithm 1, with the norm over all parameters. Throws `value_error` for a
/// bound that is not positive and finite.
[[nodiscard]] constexpr gradient_transform clip_by_norm(double bound) {
  return {gradient_transform::kind::clip_by_norm, detail::positive_bound("clip_by_norm", bound)};
}

namespace detail {

/// The scale stays on the device: no number is read back.
template <backend B>
void scale_to_norm(double bound, const B& device, std::vector<typename B::tensor>& gradients) {
  using tensor = typename B::tensor;
  tensor total = device.run(kernels::full{{}, 0});
  for (const tensor& g : gradients) {
    if (g) {
      total = device.run(
          kernels::binary{binary_function::add}, std::move(total),
          device.run(kernels::sum_to{{}}, device.run(kernels::unary{{unary_function::square}}, g)));
    }
  }
  // scale = bound / max(|g|, bound)
  const tensor length =
      device.run(kernels::binary{binary_function::maximum},
                 device.run(kernels::unary{{unary_function::square_root}}, std::move(total)),
                 device.run(kernels::full{{}, bound}));
  const tensor scale = device.run(kernels::binary{binary_function::divide},
                                  device.run(kernels::full{{}, bound}), length);
  for (tensor& g : gradients) {
    if (g) {
      g = device.run(kernels::binary{binary_function::multiply}, std::move(g), scale);
    }
  }
}

}  // namespace detail

/// Does what is listed to the gradients, one after the other. Parameters that are not trained have
/// none.
template <backend B>
void transform_gradients(const std::vector<gradient_transform>& all, const B& device,
                         std::vector<typename B::tensor>& gradients) {
  for (const gradient_transform& one : all) {
    if (one.what == gradient_transform::kind::clip_by_norm) {
      detail::scale_to_norm(detail::positive_bound("clip_by_norm", one.bound), device, gradients);
      continue;
    }
    const double bound = detail::positive_bound("clip_by_value", one.bound);
    for (typename B::tensor& g : gradients) {
      if (g) {
        g = device.run(kernels::unary{{unary_function::clamp, -bound, bound}}, std::move(g));
      }
    }
  }
}

}  // namespace glia
