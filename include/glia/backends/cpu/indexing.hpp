#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/each_named_row.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"
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

  void compute(const kernels::scatter_add& k, const memory_pool& memory, const tensor& rows,
               const tensor& indices, const tensor& table) const {
    const std::size_t columns = sample_of(table.shape()).size();
    team_->for_blocks(table.size(), workers::elements_per_block,
                      [&](auto, std::size_t first, std::size_t some) {
                        std::fill_n(table.data() + first, some, T{0});
                      });
    const tensor slots(memory, {indices.size() > sum_chain ? k.count : 0}, element::index);
    const std::size_t frequent =
        slots.size() > 0 ? find_frequent(indices, k.count, slots.integers()) : 0;
    if (frequent == 0) {
      team_->for_blocks(
          columns, block_columns, [&](auto loops, std::size_t column, std::size_t some) {
            for_each_named_row(indices, k.count, [&](std::size_t row, std::size_t at) {
              loops.add(rows.data() + row * columns + column, table.data() + at * columns + column,
                        some);
            });
          });
      return;
    }
    // Of each row of the table that many are added to: what was added to the chain at hand, and
    // what its total has lost.
    const tensor room(memory, {frequent, 2, columns});
    std::fill_n(room.data(), room.size(), T{0});
    const std::size_t blocks = (columns + block_columns - 1) / block_columns;
    const tensor counts(memory, {blocks, frequent}, element::index);
    std::fill_n(counts.integers(), counts.size(), 0);
    team_->for_blocks(
        columns, block_columns, [&](auto loops, std::size_t column, std::size_t some) {
          std::int32_t* const count = counts.integers() + column / block_columns * frequent;
          const auto chain_of = [&](std::size_t slot) {
            return room.data() + slot * 2 * columns + column;
          };
          for_each_named_row(indices, k.count, [&](std::size_t row, std::size_t at) {
            T* const total = table.data() + at * columns + column;
            const T* const from = rows.data() + row * columns + column;
            if (slots.integers()[at] < 0) {
              loops.add(from, total, some);
              return;
            }
            const auto slot = static_cast<std::size_t>(slots.integers()[at]);
            T* const chain = chain_of(slot);
            loops.add(from, chain, some);
            if (++count[slot] == static_cast<std::int32_t>(sum_chain)) {
              count[slot] = 0;
              loops.add_compensated(chain, total, chain + columns, some);
              std::fill_n(chain, some, T{0});
            }
          });
          for (std::size_t at = 0; at < k.count; ++at) {
            if (slots.integers()[at] >= 0) {
              T* const total = table.data() + at * columns + column;
              T* const chain = chain_of(static_cast<std::size_t>(slots.integers()[at]));
              loops.add_compensated(chain, total, chain + columns, some);
              loops.end_compensated(total, chain + columns, some);
            }
          }
        });
  }

 private:
  /// Numbers the indices that come more often than a chain of a sum is long; others get -1.
  static std::size_t find_frequent(const tensor& indices, std::size_t count, std::int32_t* slots) {
    std::fill_n(slots, count, 0);
    for_each_named_row(indices, count, [&](std::size_t, std::size_t at) { ++slots[at]; });
    std::int32_t frequent = 0;
    for (std::size_t at = 0; at < count; ++at) {
      slots[at] = slots[at] > static_cast<std::int32_t>(sum_chain) ? frequent++ : -1;
    }
    return static_cast<std::size_t>(frequent);
  }

  // Some cache lines, which no other block writes to.
  static constexpr std::size_t block_columns = 64;

  const workers* team_;
};

}  // namespace glia::cpu_loops
