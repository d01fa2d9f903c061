#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/indexing.hpp"

namespace glia::cpu_loops {

/// Rows by index. A block of columns adds all its rows in their order, so the number of threads
/// does not show in the sums.
template <class T>
class indexing {
 public:
  using tensor = host_tensor<T>;

  explicit indexing(const workers& team) : team_(&team) {}

  void compute(const kernels::gather&, const memory_pool&, const tensor& table,
               const tensor& indices, const tensor& rows) const {
    const std::size_t count = table.shape()[0];
    const std::size_t columns = sample_of(table.shape()).size();
    team_->for_rows(indices.size(), columns, [&](auto, std::size_t first, std::size_t some) {
      for (std::size_t row = first; row < first + some; ++row) {
        const auto at = static_cast<std::size_t>(indices.integers()[row]);
        if (at < count) {
          std::copy_n(table.data() + at * columns, columns, rows.data() + row * columns);
        } else {
          std::fill_n(rows.data() + row * columns, columns, T{0});
        }
      }
    });
  }

  void compute(const kernels::scatter_add& k, const memory_pool&, const tensor& rows,
               const tensor& indices, const tensor& table) const {
    const std::size_t columns = sample_of(table.shape()).size();
    team_->for_blocks(table.size(), workers::elements_per_block,
                      [&](auto, std::size_t first, std::size_t some) {
                        std::fill_n(table.data() + first, some, T{0});
                      });
    team_->for_blocks(columns, block_columns,
                      [&](auto loops, std::size_t column, std::size_t some) {
                        for (std::size_t row = 0; row < indices.size(); ++row) {
                          const auto at = static_cast<std::size_t>(indices.integers()[row]);
                          if (at < k.count) {
                            loops.add(rows.data() + row * columns + column,
                                      table.data() + at * columns + column, some);
                          }
                        }
                      });
  }

 private:
  // Some cache lines, which no other block writes to.
  static constexpr std::size_t block_columns = 64;

  const workers* team_;
};

}  // namespace glia::cpu_loops
