#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Returns the states (N, T, U) of all steps of a recurrent layer, computed by one kernel; see
/// `kernels::recurrence`.
///
/// `scale` and `counts` can be empty tensors and have no gradients.
[[nodiscard]] variable recurrence(recurrent_cell cell, bool backwards, variable x,
                                  const variable& w, const std::optional<variable>& bias,
                                  const tensor& scale, const tensor& counts);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/recurrence_impl.hpp"
#endif
