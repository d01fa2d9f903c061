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
template <backend B>
[[nodiscard]] variable<B> gather(const variable<B>& table, typename B::tensor indices) {
  auto rows = table.device().run(kernels::gather{}, table.value(), indices);
  return table.owner().record(
      std::move(rows), table.needs_gradient(),
      [to_table = table.slot(), count = table.shape()[0], indices = std::move(indices)](auto& to,
                                                                                        auto dy) {
        to.add(to_table, to.device().run(kernels::scatter_add{count}, std::move(dy), indices));
      });
}

/// Adds rows by index: row i of the result is the sum of all rows whose index is i.
///
/// `rows` has the shape (..., row shape). `indices` is a tensor with one integer for each row, so
/// it has the shape of the leading axes. The result has `count` rows. Rows with an index outside 0
/// to count - 1 are ignored. Keras and JAX: segment_sum. PyTorch's scatter_add does something else:
/// it adds single elements.
template <backend B>
[[nodiscard]] variable<B> segment_sum(variable<B> rows, typename B::tensor indices,
                                      std::size_t count) {
  tape<B>& owner = rows.owner();
  const gradient_slot from = rows.slot();
  auto table = owner.device().run(kernels::scatter_add{count}, std::move(rows).value(), indices);
  return owner.record(std::move(table), static_cast<bool>(from),
                      [from, indices = std::move(indices)](auto& to, auto dy) {
                        to.add(from, to.device().run(kernels::gather{}, std::move(dy), indices));
                      });
}

}  // namespace glia::ops
