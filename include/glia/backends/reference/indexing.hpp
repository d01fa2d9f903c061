#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/each_named_row.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/reference/compensated_sums.hpp"
#include "glia/kernels/indexing.hpp"

namespace glia::reference_loops {

template <class T>
struct indexing {
  using tensor = detail::tensor_view<T>;

  void compute(const kernels::gather&, const memory_pool&, const tensor& table,
               const tensor& indices, const tensor& rows) const {
    const std::size_t columns = sample_of(table.shape()).size();
    std::fill_n(rows.data(), rows.size(), T{0});
    detail::for_each_named_row(indices, table.shape()[0], [&](std::size_t row, std::size_t index) {
      std::copy_n(table.data() + index * columns, columns, rows.data() + row * columns);
    });
  }

  void compute(const kernels::scatter_add& k, const memory_pool& memory, const tensor& rows,
               const tensor& indices, const tensor& table) const {
    const std::size_t columns = sample_of(table.shape()).size();
    const compensated_sums<T> sums(memory, table);
    detail::for_each_named_row(indices, k.count, [&](std::size_t row, std::size_t index) {
      for (std::size_t i = 0; i < columns; ++i) {
        sums.add(index * columns + i, rows.data()[row * columns + i]);
      }
    });
    sums.end();
  }

  void compute(const kernels::update_slice& k, const memory_pool&, const tensor& x,
               const tensor& part, const tensor& begin, const tensor& y) const {
    if (x.data() != y.data()) {
      std::copy_n(x.data(), x.size(), y.data());
    }
    const std::size_t step = shape(x.shape().begin() + k.axis + 1, x.shape().end()).size();
    const std::size_t block = part.shape()[k.axis] * step;
    const std::size_t row = x.shape()[k.axis] * step;
    const std::size_t first = kernels::update_slice::first_place(
        *begin.integers(), x.shape()[k.axis], part.shape()[k.axis]);
    for (std::size_t i = 0; block > 0 && i < part.size() / block; ++i) {
      std::copy_n(part.data() + i * block, block, y.data() + i * row + first * step);
    }
  }
};

}  // namespace glia::reference_loops
