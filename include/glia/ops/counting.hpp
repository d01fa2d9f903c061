#pragma once

#include "glia/backends/backend.hpp"

namespace glia::detail {

/// 1 for what is a class, from 0 on, and 0 for -1, which stands for none.
template <backend B>
[[nodiscard]] typename B::tensor which_count(const B& device, const typename B::tensor& classes) {
  return device.run(kernels::binary{binary_function::greater}, classes,
                    device.run(kernels::full{{}, -0.5}));
}

/// How many of each row's numbers (N, M), ones and zeros, are 1, as (N, 1) to divide by: at
/// least 1.
template <backend B>
[[nodiscard]] typename B::tensor count_of_ones(const B& device, const typename B::tensor& ones) {
  return device.run(kernels::binary{binary_function::maximum},
                    device.run(kernels::sum_to{{ones.shape()[0], 1}}, ones),
                    device.run(kernels::full{{}, 1}));
}

}  // namespace glia::detail
