#pragma once

#include <cstddef>
#include <utility>

#include "glia/core/inline.hpp"
#include "glia/ops/call.hpp"
#include "glia/ops/indexing.hpp"

namespace glia::ops {

GLIA_INLINE variable gather(const variable& table, tensor indices) {
  return call(table.owner(), kernels::gather{}, table, std::move(indices));
}

GLIA_INLINE variable segment_sum(variable rows, tensor indices, std::size_t count) {
  return call(rows.owner(), kernels::scatter_add{count}, std::move(rows), std::move(indices));
}

}  // namespace glia::ops
