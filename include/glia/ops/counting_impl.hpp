#pragma once

#include "glia/core/inline.hpp"
#include "glia/ops/counting.hpp"

namespace glia::detail {

GLIA_INLINE tensor class_mask(const glia::device& device, const tensor& classes) {
  return device.run(kernels::binary{binary_function::greater}, classes,
                    device.run(kernels::full{{}, -0.5}));
}

GLIA_INLINE tensor count_of_ones(const glia::device& device, const tensor& mask) {
  return device.run(kernels::binary{binary_function::maximum},
                    device.run(kernels::sum_to{{mask.shape()[0], 1}}, mask),
                    device.run(kernels::full{{}, 1}));
}

}  // namespace glia::detail
