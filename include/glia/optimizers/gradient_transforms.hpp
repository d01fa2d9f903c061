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

/// The norm of all gradients together, of at least one.
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
  // That of some norms is that of what they are of.
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

/// The scale stays on the device: no number is read back. It is bound / max(norm, bound), of which
/// the root is taken and multiplied by twice: it may be smaller than numbers are, and a gradient
/// times it is not.
template <backend B>
void scale_to_norm(double bound, const B& device, std::vector<typename B::tensor>& gradients) {
  using tensor = typename B::tensor;
  const bool none = std::none_of(gradients.begin(), gradients.end(),
                                 [](const tensor& g) { return static_cast<bool>(g); });
  if (none || bound > std::numeric_limits<typename B::value_type>::max()) {
    return;  // no norm is above it
  }
  const tensor root = device.run(kernels::full{{}, std::sqrt(bound)});
  const tensor length = device.run(
      kernels::binary{binary_function::maximum},
      device.run(kernels::unary{{unary_function::square_root}}, joint_norm(device, gradients)),
      root);
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
