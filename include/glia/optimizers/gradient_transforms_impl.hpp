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

#include "glia/core/inline.hpp"
#include "glia/optimizers/gradient_transforms.hpp"

namespace glia::detail {

/// Returns the L2 norm of all gradients together. There must be at least one gradient.
[[nodiscard]] inline tensor joint_norm(const glia::device& device,
                                       const std::vector<tensor>& gradients) {
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
      std::array<tensor, kernels::concat::operands> group;
      for (std::size_t i = 0; i < group.size() && first + i < norms.size(); ++i) {
        group[i] = device.run(kernels::reshape{{1}}, std::move(norms[first + i]));
      }
      joined.push_back(device.run(
          kernels::norm{},
          std::apply([&](auto&... part) { return device.run(kernels::concat{0}, part...); },
                     group)));
    }
    norms = std::move(joined);
  }
  return norms.front();
}

/// Scales the gradients to a norm of at most `bound`. The factor stays on the device; no number is
/// copied to the host. The factor is bound / max(norm, bound). Each gradient is multiplied twice by
/// the square root of the factor, because the factor itself can underflow even if its product with
/// a gradient does not.
inline void scale_to_norm(double bound, const glia::device& device,
                          std::vector<tensor>& gradients) {
  const bool all_empty = std::none_of(gradients.begin(), gradients.end(),
                                      [](const tensor& g) { return static_cast<bool>(g); });
  const double largest = device.real_bytes() == sizeof(float)
                             ? static_cast<double>(std::numeric_limits<float>::max())
                             : std::numeric_limits<double>::max();
  if (all_empty || bound > largest) {
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

GLIA_INLINE void transform_gradients(const std::vector<gradient_transform>& transforms,
                                     const glia::device& device, std::vector<tensor>& gradients) {
  for (const gradient_transform& transform : transforms) {
    if (transform.type == gradient_transform::kind::clip_by_global_norm) {
      detail::scale_to_norm(detail::positive_bound("clip_by_global_norm", transform.bound), device,
                            gradients);
      continue;
    }
    const double bound = detail::positive_bound("clip_by_value", transform.bound);
    for (tensor& g : gradients) {
      if (g) {
        g = device.run(kernels::unary{{unary_function::clamp, -bound, bound}}, std::move(g));
      }
    }
  }
}

}  // namespace glia::detail
