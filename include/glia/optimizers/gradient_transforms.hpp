#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/error.hpp"

namespace glia {

/// A transformation of the gradients before the optimizer uses them. `clip_by_value` and
/// `clip_by_global_norm` return one.
///
/// It is an option of the trainer, not of the optimizer, because the global norm depends on the
/// gradients of all parameters together.
struct gradient_transform {
  enum class kind : std::uint8_t { clip_by_value, clip_by_global_norm };

  kind type = kind::clip_by_global_norm;  ///< Kind of the transformation.
  double bound = 0;                       ///< Bound, positive and finite.

  friend constexpr bool operator==(const gradient_transform&, const gradient_transform&) = default;
};

namespace detail {

[[nodiscard]] constexpr double positive_bound(const char* name, double bound) {
  if (!(bound > 0) || bound > std::numeric_limits<double>::max()) {
    throw value_error(text(name, ": expected a positive, finite bound, got ", bound, "; remove ",
                           name, " to train without clipping"));
  }
  return bound;
}

}  // namespace detail

/// Limits every element of the gradients to [-bound, bound]. Throws `value_error` if the bound is
/// not positive and finite.
[[nodiscard]] constexpr gradient_transform clip_by_value(double bound) {
  return {gradient_transform::kind::clip_by_value, detail::positive_bound("clip_by_value", bound)};
}
/// Scales all gradients by the same factor, so that their global norm is at most `bound`. The
/// global norm is the L2 norm of the gradients of all parameters together. The function corresponds
/// to Keras's global_clipnorm and PyTorch's clip_grad_norm_. Pascanu, Mikolov and Bengio, ICML
/// 2013, algorithm 1. Throws `value_error` if the bound is not positive and finite.
[[nodiscard]] constexpr gradient_transform clip_by_global_norm(double bound) {
  return {gradient_transform::kind::clip_by_global_norm,
          detail::positive_bound("clip_by_global_norm", bound)};
}

namespace detail {

/// Applies the transformations to the gradients, one after another. Parameters that are not trained
/// have empty gradients.
void transform_gradients(const std::vector<gradient_transform>& transforms,
                         const glia::device& device, std::vector<tensor>& gradients);

}  // namespace detail

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/optimizers/gradient_transforms_impl.hpp"
#endif
