#pragma once

#include "glia/backends/backend.hpp"

namespace glia::detail {

/// Returns a mask of the classes: 1 for each class of at least 0, and 0 for the class -1, which
/// means "no class".
template <backend B>
[[nodiscard]] typename B::tensor which_count(const B& device, const typename B::tensor& classes) {
  return device.run(kernels::binary{binary_function::greater}, classes,
                    device.run(kernels::full{{}, -0.5}));
}

/// Counts the ones in each row of a matrix (N, M) of ones and zeros. Returns (N, 1). A row without
/// ones gets the count 1, so that the result can be a divisor.
template <backend B>
[[nodiscard]] typename B::tensor count_of_ones(const B& device, const typename B::tensor& ones) {
  return device.run(kernels::binary{binary_function::maximum},
                    device.run(kernels::sum_to{{ones.shape()[0], 1}}, ones),
                    device.run(kernels::full{{}, 1}));
}

}  // namespace glia::detail
