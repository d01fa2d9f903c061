#pragma once

#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/quantization.hpp"

namespace glia::ops {

GLIA_INLINE variable fake_quantize(variable x, const tensor& scales, const byte_range& range) {
  tape& owner = x.owner();
  const glia::device& device = owner.device();
  const gradient_slot from = x.slot();
  const auto times = [&](double by) {
    return device.run(kernels::unary{{unary_function::affine, by, 0}}, scales);
  };
  tensor inside{};
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
