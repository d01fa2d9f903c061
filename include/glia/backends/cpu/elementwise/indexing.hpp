#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/each_named_row.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
#include "glia/kernels/indexing.hpp"

namespace glia::cpu_loops {

/// Copies and sums of rows that are selected by index. A block of columns adds all its rows in
/// order, so the number of threads does not change the sums.
template <class T>
class indexing {
 public:
  using tensor = detail::tensor_view<T>;

  explicit indexing(const workers& team) : team_(&team) {}

  void compute(const kernels::gather&, const memory_pool&, const tensor& table,
               const tensor& indices, const tensor& rows) const {
    const std::size_t count = table.shape()[0];
    const std::size_t columns = sample_of(table.shape()).size();
    team_->for_rows(indices.size(), columns, [&](auto, std::size_t first, std::size_t length) {
      for (std::size_t row = first; row < first + length; ++row) {
        const auto index = static_cast<std::size_t>(indices.integers()[row]);
        if (index < count) {
          std::copy_n(table.data() + index * columns, columns, rows.data() + row * columns);
        } else {
          std::fill_n(rows.data() + row * columns, columns, T{0});
        }
      }
    });
  }

  void compute(const kernels::scatter_add& k, const memory_pool& memory, const tensor& rows,
               const tensor& indices, const tensor& table) const {
    const std::size_t columns = sample_of(table.shape()).size();
    team_->for_blocks(table.size(), workers::elements_per_block,
                      [&](auto, std::size_t first, std::size_t count) {
                        std::fill_n(table.data() + first, count, T{0});
                      });
    const std::size_t most_long = indices.size() / detail::sum_chain;
    if (most_long == 0) {
      team_->for_blocks(
          columns, block_columns, [&](auto loops, std::size_t column, std::size_t width) {
            detail::for_each_named_row(indices, k.count, [&](std::size_t row, std::size_t index) {
              loops.add(rows.data() + row * columns + column,
                        table.data() + index * columns + column, width);
            });
          });
      return;
    }
    // Each row of the table is the accumulator of a chain. If many rows are added to one row of the
    // table, its chains are added to a total. The rounding error of the total is stored beside it.
    const detail::host_tensor<T> totals(memory, {most_long, 2, columns});
    // For each block of columns and each row of the table: the number of terms in its chain, and
    // the index of its total, counted from 1.
    const std::size_t blocks = (columns + block_columns - 1) / block_columns;
    const detail::host_tensor<T> counts(memory, {blocks, 2, k.count}, element::index);
    team_->for_blocks(
        columns, block_columns, [&](auto loops, std::size_t column, std::size_t width) {
          std::int32_t* const added = counts.integers() + column / block_columns * 2 * k.count;
          std::int32_t* const total_of = added + k.count;
          std::fill_n(added, 2 * k.count, 0);
          std::int32_t used = 0;
          const auto end_chain = [&](std::size_t index, T* chain) {
            const bool is_new = total_of[index] == 0;
            total_of[index] = is_new ? ++used : total_of[index];
            T* const total = totals.data() +
                             static_cast<std::size_t>(total_of[index] - 1) * 2 * columns + column;
            if (is_new) {
              std::fill_n(total, width, T{0});
              std::fill_n(total + columns, width, T{0});
            }
            loops.add_compensated(chain, total, total + columns, width);
            return total;
          };
          detail::for_each_named_row(indices, k.count, [&](std::size_t row, std::size_t index) {
            T* const chain = table.data() + index * columns + column;
            loops.add(rows.data() + row * columns + column, chain, width);
            if (++added[index] == static_cast<std::int32_t>(detail::sum_chain)) {
              end_chain(index, chain);
              added[index] = 0;
              std::fill_n(chain, width, T{0});
            }
          });
          for (std::size_t index = 0; used > 0 && index < k.count; ++index) {
            if (total_of[index] > 0) {
              T* const chain = table.data() + index * columns + column;
              T* const total = end_chain(index, chain);
              loops.end_compensated(total, total + columns, width);
              std::copy_n(total, width, chain);
            }
          }
        });
  }

 private:
  // A few cache lines, to which no other block writes.
  static constexpr std::size_t block_columns = 64;

  const workers* team_;
};

}  // namespace glia::cpu_loops
