#pragma once

#include <cstddef>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Returns rows of a table (V, ...), selected by their indices, as in an embedding.
///
/// `indices` is a tensor of integers of any shape. The result has the shape of `indices`, followed
/// by the shape of a row. An index outside 0 to V - 1 results in a row of zeros without a gradient.
/// NumPy: take(table, indices, axis=0); PyTorch: F.embedding. PyTorch's gather does something else:
/// it selects single elements. Throws `shape_error` if the table has no axes.
[[nodiscard]] variable gather(const variable& table, tensor indices);

/// Adds rows by index: row i of the result is the sum of all rows whose index is i.
///
/// `rows` has the shape (..., row shape). `indices` is a tensor with one integer for each row, so
/// it has the shape of the leading axes. The result has `count` rows. Rows with an index outside 0
/// to count - 1 are ignored. Keras and JAX: segment_sum. PyTorch's scatter_add does something else:
/// it adds single elements.
[[nodiscard]] variable segment_sum(variable rows, tensor indices, std::size_t count);

}  // namespace glia::ops

#ifndef GLIA_COMPILED
#include "glia/ops/indexing_impl.hpp"
#endif
