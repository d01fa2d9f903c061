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

#include "glia/backends/backend.hpp"
#include "glia/core/error.hpp"

namespace glia {

/// A transformation of the gradients before the optimizer uses them. `clip_by_value` and
/// `clip_by_global_norm` return one.
///
/// It is an option of the trainer, not of the optimizer, because the global norm depends on the
/// gradients of all parameters together.
struct gradient_transform {
  enum class kind : std::uint8_t { clip_by_value, clip_by_global_norm };

  kind what = kind::clip_by_global_norm;  ///< Kind of the transformation.
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

/// Returns the L2 norm of all gradients together. There must be at least one gradient.
template <backend B>
[[nodiscard]] typename B::tensor joint_norm(const B& device,
                                            const std::vector<typename B::tensor>& gradients) {
  using tensor = typename B::tensor;
  std::vector<tensor> norms;
  for (const tensor& g : gradients) {
    if (g) {
      norms.push_back(device.run(kernels::norm{}, g));
    }
  }
  // The norm of several tensors is the norm of their norms.
  while (norms.size() > 1) {
    std::vector<tensor> joined;
    for (std::size_t first = 0; first < norms.size(); first += kernels::concat::operands) {
      std::array<tensor, kernels::concat::operands> some;
      for (std::size_t i = 0; i < some.size() && first + i < norms.size(); ++i) {
        some[i] = device.run(kernels::reshape{{1}}, std::move(norms[first + i]));
      }
      joined.push_back(device.run(
          kernels::norm{},
          std::apply([&](auto&... part) { return device.run(kernels::concat{0}, part...); },
                     some)));
    }
    norms = std::move(joined);
  }
  return norms.front();
}

/// Scales the gradients to a norm of at most `bound`. The factor stays on the device; no number is
/// copied to the host. The factor is bound / max(norm, bound). Each gradient is multiplied twice by
/// the square root of the factor, because the factor itself can underflow even if its product with
/// a gradient does not.
template <backend B>
void scale_to_norm(double bound, const B& device, std::vector<typename B::tensor>& gradients) {
  using tensor = typename B::tensor;
  const bool none = std::none_of(gradients.begin(), gradients.end(),
                                 [](const tensor& g) { return static_cast<bool>(g); });
  if (none || bound > std::numeric_limits<typename B::value_type>::max()) {
    return;  // the bound exceeds every norm
  }
  const tensor root = device.run(kernels::full{{}, std::sqrt(bound)});
  const tensor length = device.run(
      kernels::binary{binary_function::maximum},
      device.run(kernels::unary{{unary_function::sqrt}}, joint_norm(device, gradients)), root);
  const tensor scale = device.run(kernels::binary{binary_function::divide}, root, length);
  for (tensor& g : gradients) {
    if (g) {
      for (int time = 0; time < 2; ++time) {
        g = device.run(kernels::binary{binary_function::multiply}, std::move(g), scale);
      }
    }
  }
}

}  // namespace detail

/// Applies the transformations to the gradients, one after another. Parameters that are not trained
/// have empty gradients.
template <backend B>
void transform_gradients(const std::vector<gradient_transform>& all, const B& device,
                         std::vector<typename B::tensor>& gradients) {
  for (const gradient_transform& one : all) {
    if (one.what == gradient_transform::kind::clip_by_global_norm) {
      detail::scale_to_norm(detail::positive_bound("clip_by_global_norm", one.bound), device,
                            gradients);
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
