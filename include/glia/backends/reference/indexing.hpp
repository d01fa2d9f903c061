#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/host_tensor.hpp"
#include "glia/backends/reference/compensated_sums.hpp"
#include "glia/kernels/indexing.hpp"

namespace glia::reference_loops {

template <class T>
struct indexing {
  using tensor = host_tensor<T>;

  void compute(const kernels::gather&, const memory_pool&, const tensor& table,
               const tensor& indices, const tensor& rows) const {
    const std::size_t columns = sample_of(table.shape()).size();
    std::fill_n(rows.data(), rows.size(), T{0});
    for_each_row(indices, table.shape()[0], [&](std::size_t row, std::size_t at) {
      std::copy_n(table.data() + at * columns, columns, rows.data() + row * columns);
    });
  }

  void compute(const kernels::scatter_add& k, const memory_pool& memory, const tensor& rows,
               const tensor& indices, const tensor& table) const {
    const std::size_t columns = sample_of(table.shape()).size();
    const compensated_sums<T> sums(memory, table);
    for_each_row(indices, k.count, [&](std::size_t row, std::size_t at) {
      for (std::size_t i = 0; i < columns; ++i) {
        sums.add(at * columns + i, rows.data()[row * columns + i]);
      }
    });
    sums.end();
  }

 private:
  /// body(row, index) for every index that is below `count`.
  template <class Body>
  static void for_each_row(const tensor& indices, std::size_t count, const Body& body) {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const auto at = static_cast<std::size_t>(indices.integers()[row]);
      if (at < count) {
        body(row, at);
      }
    }
  }
};

}  // namespace glia::reference_loops
