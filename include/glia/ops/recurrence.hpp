#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

namespace detail {

/// Computes the state before each step from the states (N, T, U) after each step. Returns rows (N
/// T, U), with zeros for the first step. If `scale` is not empty, the states are multiplied by it.
[[nodiscard]] tensor states_before(const glia::device& device, const tensor& states,
                                   const tensor& scale, bool backwards);

}  // namespace detail

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
