#pragma once

#include <cstddef>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/indexing.hpp"

namespace glia::ops {

GLIA_INLINE variable gather(const variable& table, tensor indices) {
  auto rows = table.device().run(kernels::gather{}, table.value(), indices);
  return table.owner().record(
      std::move(rows), table.needs_gradient(),
      [to_table = table.slot(), count = table.shape()[0], indices = std::move(indices)](auto& to,
                                                                                        auto dy) {
        to.add(to_table, to.device().run(kernels::scatter_add{count}, std::move(dy), indices));
      });
}

GLIA_INLINE variable segment_sum(variable rows, tensor indices, std::size_t count) {
  tape& owner = rows.owner();
  const gradient_slot from = rows.slot();
  auto table = owner.device().run(kernels::scatter_add{count}, std::move(rows).value(), indices);
  return owner.record(std::move(table), static_cast<bool>(from),
                      [from, indices = std::move(indices)](auto& to, auto dy) {
                        to.add(from, to.device().run(kernels::gather{}, std::move(dy), indices));
                      });
}

}  // namespace glia::ops
