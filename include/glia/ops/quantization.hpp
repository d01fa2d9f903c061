#pragma once

#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Rounds numbers to the values that 8-bit integers represent; see `kernels::fake_quantize`.
///
/// `scales` is a tensor with one number, or with one number for each index of the last axis. In the
/// backward pass, the gradient passes through the rounding unchanged. It is 0 for numbers outside
/// the range of the integers. Source: Bengio et al., Estimating or Propagating Gradients Through
/// Stochastic Neurons (2013).
template <backend B>
[[nodiscard]] variable<B> fake_quantize(variable<B> x, const typename B::tensor& scales,
                                        const byte_range& range) {
  tape<B>& owner = x.owner();
  const B& device = owner.device();
  const gradient_slot from = x.slot();
  const auto times = [&](double by) {
    return device.run(kernels::unary{{unary_function::affine, by, 0}}, scales);
  };
  typename B::tensor inside{};
  if (from) {
    const auto not_above = [&](auto a, auto b) {
      auto above =
          device.run(kernels::binary{binary_function::greater}, std::move(a), std::move(b));
      return device.run(kernels::unary{{unary_function::affine, -1, 1}}, std::move(above));
    };
    inside = device.run(kernels::binary{binary_function::multiply},
                        not_above(times(range.least - range.zero - 0.5), x.value()),
                        not_above(x.value(), times(range.most - range.zero + 0.5)));
  }
  return owner.record(
      device.run(kernels::fake_quantize{range}, std::move(x).value(), scales),
      static_cast<bool>(from), [from, inside = std::move(inside)](auto& to, auto dy) {
        to.add(from,
               to.device().run(kernels::binary{binary_function::multiply}, std::move(dy), inside));
      });
}

}  // namespace glia::ops
