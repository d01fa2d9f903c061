#pragma once

#include <cstddef>

#include "glia/backends/host_tensor.hpp"

namespace glia::detail {

/// Calls body(row, index) for every row of `indices` whose index is below `count`, in order. Rows
/// with other indices are skipped.
template <class T, class Body>
void for_each_named_row(const tensor_view<T>& indices, std::size_t count, const Body& body) {
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const auto index = static_cast<std::size_t>(indices.integers()[row]);
    if (index < count) {
      body(row, index);
    }
  }
}

}  // namespace glia::detail
