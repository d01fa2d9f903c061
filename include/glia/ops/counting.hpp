#pragma once

#include "glia/backends/device.hpp"

namespace glia::detail {

/// Returns a mask of the classes: 1 for each class of at least 0, and 0 for the class -1, which
/// means "no class".
[[nodiscard]] tensor class_mask(const glia::device& device, const tensor& classes);

/// Counts the ones in each row of a mask (N, M) of ones and zeros. Returns (N, 1). A row without
/// ones gets the count 1, so that the result can be a divisor.
[[nodiscard]] tensor count_of_ones(const glia::device& device, const tensor& mask);

}  // namespace glia::detail

#ifndef GLIA_COMPILED
#include "glia/ops/counting_impl.hpp"
#endif
