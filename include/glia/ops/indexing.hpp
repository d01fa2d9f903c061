#pragma once

#include <cstddef>
#include <utility>

#include "glia/ops/tape.hpp"

namespace glia::ops {

/// Rows of a table (V, ...), one for each index: an embedding. An index that is not one of
/// 0 ... V - 1 gets a row of zeros and gives no gradient.
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

/// A table of `count` rows, each the sum of the rows whose index names it; rows with another index
/// are left out.
template <backend B>
[[nodiscard]] variable<B> scatter_add(variable<B> rows, typename B::tensor indices,
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
