#pragma once

#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Returns the maximum of each window of x (N, H, W, C).
///
/// The gradient of a maximum goes to the element with this maximum.
[[nodiscard]] variable max_pool2d(variable x, const window2d& window);

/// Returns the mean of each window of x (N, H, W, C). Padding does not count in the mean.
[[nodiscard]] variable avg_pool2d(variable x, const window2d& window);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/pooling_impl.hpp"
#endif
