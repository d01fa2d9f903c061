#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/ops/elementwise.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// A (m, k) times B (k, n).
template <backend B>
[[nodiscard]] variable<B> matmul(const variable<B>& a, const variable<B>& b) {
  return a.owner().record(
      a.device().run(kernels::matmul{transpose::none}, a.value(), b.value()),
      a.needs_gradient() || b.needs_gradient(), [a, b](auto& to, auto dy) {
        if (a.needs_gradient()) {
          to.add(a.slot(), to.device().run(kernels::matmul{transpose::second}, dy, b.value()));
        }
        if (b.needs_gradient()) {
          to.add(b.slot(), to.device().run(kernels::matmul{transpose::first}, a.value(), dy));
        }
      });
}

namespace detail {

/// Whether a fused kernel may apply the map: its derivative must be known from the output, since
/// the fused kernel keeps nothing else.
[[nodiscard]] constexpr bool fusible(const unary_map& map) {
  return map == identity_map || saved_for_gradient(map.function) == saved_operand::output;
}

/// A fused kernel's gradient before its map was applied.
template <backend B>
[[nodiscard]] typename B::tensor before_map(const B& device, const unary_map& map,
                                            typename B::tensor dy, typename B::tensor y) {
  return map == identity_map
             ? dy
             : device.run(kernels::unary_gradient{map}, std::move(dy), std::move(y));
}

/// Adds the gradient of a bias that was repeated over all rows.
template <backend B>
void add_bias_gradient(gradients<B>& to, gradient_slot bias, const typename B::tensor& dz) {
  if (bias) {
    to.add(bias, to.device().run(kernels::sum_to{{dz.shape().back()}}, dz));
  }
}

}  // namespace detail

/// map(x w + bias): x (N, I), w (I, O), bias (O).
template <backend B>
[[nodiscard]] variable<B> dense(const variable<B>& x, const variable<B>& w,
                                const std::optional<variable<B>>& bias = {},
                                const unary_map& map = identity_map) {
  if (!detail::fusible(map)) {
    return unary(map, dense(x, w, bias));
  }
  using tensor = typename B::tensor;
  const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
  tensor y =
      x.device().run(kernels::dense{map}, x.value(), w.value(), bias ? bias->value() : tensor{});
  tensor saved = map == identity_map ? tensor{} : y;
  return x.owner().record(
      std::move(y), x.needs_gradient() || w.needs_gradient() || to_bias,
      [x, w, to_bias, map, saved = std::move(saved)](auto& to, auto dy) mutable {
        const B& device = to.device();
        const tensor dz = detail::before_map(device, map, std::move(dy), std::move(saved));
        detail::add_bias_gradient(to, to_bias, dz);
        if (w.needs_gradient()) {
          to.add(w.slot(), device.run(kernels::matmul{transpose::first}, x.value(), dz));
        }
        if (x.needs_gradient()) {
          to.add(x.slot(), device.run(kernels::matmul{transpose::second}, dz, w.value()));
        }
      });
}

/// map(x * w + bias), the cross-correlation that neural networks call convolution:
/// x (N, H, W, C), w (height, width, C / groups, O), bias (O).
template <backend B>
[[nodiscard]] variable<B> conv2d(const variable<B>& x, const variable<B>& w,
                                 const std::optional<variable<B>>& bias, const window2d& window,
                                 std::size_t groups = 1, const unary_map& map = identity_map) {
  if (!detail::fusible(map)) {
    return unary(map, conv2d(x, w, bias, window, groups));
  }
  using tensor = typename B::tensor;
  const gradient_slot to_bias = bias ? bias->slot() : gradient_slot{};
  tensor y = x.device().run(kernels::conv2d{window, groups, map}, x.value(), w.value(),
                            bias ? bias->value() : tensor{});
  tensor saved = map == identity_map ? tensor{} : y;
  return x.owner().record(
      std::move(y), x.needs_gradient() || w.needs_gradient() || to_bias,
      [x, w, to_bias, window, groups, map, saved = std::move(saved)](auto& to, auto dy) mutable {
        const B& device = to.device();
        const tensor dz = detail::before_map(device, map, std::move(dy), std::move(saved));
        detail::add_bias_gradient(to, to_bias, dz);
        if (w.needs_gradient()) {
          to.add(w.slot(),
                 device.run(kernels::conv2d_kernel_gradient{window, groups}, x.value(), dz));
        }
        if (x.needs_gradient()) {
          to.add(x.slot(),
                 device.run(kernels::conv2d_input_gradient{window, groups, sample_of(x.shape())},
                            dz, w.value()));
        }
      });
}

}  // namespace glia::ops
