#pragma once

#include <cstdint>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia {

/// A source of random numbers for an op; `scope::next_random()` returns one.
struct random_source {
  tensor key;                ///< Key of the training step; see `step_key`.
  std::uint32_t stream = 0;  ///< Number of the stream; each op in a step has its own.
};

}  // namespace glia

namespace glia::ops {

/// Sets each element to 0 with probability `rate`, and divides the other elements by 1 - rate.
///
/// Whether an element becomes 0 depends only on `random` and on the index of the element in the
/// batch.
[[nodiscard]] variable dropout(variable x, double rate, const random_source& random);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/dropout_impl.hpp"
#endif
