#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia {

namespace kernels {

/// Returns the shape of a op b according to NumPy's broadcasting: axes are aligned at the last one,
/// and an axis of extent 1 (or a missing one) is repeated. Throws `shape_error` if the extents do
/// not match.
[[nodiscard]] inline shape broadcast_shape(const shape& a, const shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from_a = axis + a.rank() < rank ? 1 : a[axis + a.rank() - rank];
    const std::size_t from_b = axis + b.rank() < rank ? 1 : b[axis + b.rank() - rank];
    require<shape_error>(
        from_a == from_b || from_a == 1 || from_b == 1, "element-wise operation: the shapes ", a,
        " and ", b, " cannot be broadcast: counted from the last axis, extents must be equal or 1");
    result.push_back(from_a == 1 ? from_b : from_a);
  }
  return result;
}

}  // namespace kernels

namespace detail {

/// Returns how an operand that is broadcast to the shape `batch` relates to the samples: `rows` if
/// it has a row for each sample, else `shared`.
[[nodiscard]] constexpr batch_axis broadcast_axis(const tensor_spec& operand, const shape& batch) {
  return has_rows_of(operand.shape, batch) ? batch_axis::rows : batch_axis::shared;
}

}  // namespace detail

}  // namespace glia
