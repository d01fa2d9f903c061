#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/product_panel.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/products.hpp"

namespace glia::cpu_loops {

/// Computes C = A B if many elements of A are zero: after a ReLU, in its gradients, and in images
/// on a black background. The nonzeros of A are listed once. Each row of C is then a sum of
/// multiples of the rows of B that its list names. The columns are processed panel by panel: a
/// panel of B stays in or near the first-level cache, and the sums stay in registers.
///
/// Skipping 0 times an element of B is correct only if that element is finite. Each panel is
/// therefore checked while it is loaded into the cache. The order of the sums depends only on the
/// positions of the nonzeros, not on the threads.
template <class T, class Loops>
class sparse_product {
 public:
  /// Below this fraction of nonzeros, the lists are faster than a dense product. benchmarks/tune
  /// prints the break-even point.
  static constexpr double worthwhile_density = 0.5;

  /// Returns whether the product is large enough for panels. For a smaller product, lists do not
  /// pay off at any density.
  [[nodiscard]] static bool possible(const kernels::matmul_sizes& s) {
    return s.m >= 16 && s.n >= 16 && s.k >= 16;
  }

  /// Makes sure that `memory` has a free block for the lists of a product of these sizes. A later
  /// call with more zeros then takes no memory from the system.
  static void reserve(const memory_pool& memory, const kernels::matmul_sizes& s) {
    static_cast<void>(list_memory(memory, s));
  }

  /// Computes C. Returns false if an element of B is not finite; C must then be computed again.
  [[nodiscard]] static bool multiply(const Loops& loops, const workers& team,
                                     const memory_pool& memory, const matrix<T>& a,
                                     const matrix<T>& b, T* c, const kernels::matmul_sizes& s,
                                     const epilogue<T>& last) {
    const depths depth(s.k);
    const std::size_t count = depth.blocks * s.m;
    alignas(64) std::byte short_lists[bytes_on_stack];
    const detail::host_tensor<T> long_lists = list_memory(memory, s);
    void* const first = long_lists ? static_cast<void*>(long_lists.bytes()) : short_lists;
    auto* const entries = static_cast<nonzero<T>*>(first);
    auto* const counts = reinterpret_cast<std::uint32_t*>(entries + count * depth.size);
    const row_lists lists{depth, s.m, entries, counts};
    team.run((s.m + rows_per_list_task - 1) / rows_per_list_task,
             [&](std::size_t task, std::size_t) {
               const std::size_t row = task * rows_per_list_task;
               list(loops, a, lists, row, std::min(rows_per_list_task, s.m - row));
             });

    const panels cut{(s.n + per_register - 1) / per_register};
    // Each block of rows reads all of B, so there are only as many blocks as the threads need. The
    // cut of rows does not change the sums.
    const std::size_t desired_blocks =
        (tasks_per_thread * team.threads() + cut.count() - 1) / cut.count();
    const std::size_t row_blocks =
        std::max((s.m + max_block_rows - 1) / max_block_rows,
                 std::min(desired_blocks, std::max<std::size_t>(s.m / min_block_rows, 1)));
    std::atomic<bool> finite{true};
    team.run(cut.count() * row_blocks, [&](std::size_t task, std::size_t) {
      const std::size_t panel = task / row_blocks;
      const std::size_t block = task % row_blocks;
      const std::size_t row = block * s.m / row_blocks;
      const std::size_t column = cut.column(panel);
      const std::size_t width = cut.column(panel + 1) - column;
      const region area{row, (block + 1) * s.m / row_blocks - row, column,
                        std::min(width, s.n - column), width};
      if (multiply_block(loops, lists, b, c, s.n, area)) {
        last.apply(loops, c + area.row * s.n, s.n, area.rows, area.column, area.columns);
      } else {
        finite.store(false, std::memory_order_relaxed);
      }
    });
    return finite.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t per_register = Loops::register_bytes / sizeof(T);
  static constexpr std::size_t max_vectors = Loops::max_sums;
  static constexpr std::size_t rows_per_list_task = 8;
  static constexpr std::size_t tasks_per_thread = 2;
  // Enough rows to repay loading a panel into the cache, but few enough that their lists stay in
  // the second-level cache.
  static constexpr std::size_t min_block_rows = 32;
  static constexpr std::size_t max_block_rows = 256;

  /// Cuts the columns of C and B into panels of at most max_vectors vectors, of nearly equal width.
  struct panels {
    std::size_t vectors;
    [[nodiscard]] std::size_t count() const { return (vectors + max_vectors - 1) / max_vectors; }
    [[nodiscard]] std::size_t column(std::size_t panel) const {
      return panel * vectors / count() * per_register;
    }
  };

  /// Cuts the inner extent into equal blocks. A panel of one block's rows and max_vectors vectors
  /// takes 26 KiB of a first-level cache of 32 KiB. With AVX-512 it takes 52 KiB, while most of
  /// these processors have 48 KiB. Smaller blocks would fit, but each block adds to all of C once
  /// more and ends lists at unpredictable places.
  struct depths {
    static constexpr std::size_t bytes = (Loops::register_bytes == 64 ? 52 : 26) << 10;
    static constexpr std::size_t max_size = bytes / (max_vectors * Loops::register_bytes);
    explicit depths(std::size_t k)
        : extent(k), blocks((k + max_size - 1) / max_size), size((k + blocks - 1) / blocks) {}
    [[nodiscard]] std::size_t rows(std::size_t block) const {
      return std::min(size, extent - block * size);
    }
    std::size_t extent;
    std::size_t blocks;
    std::size_t size;
  };

  // Shorter lists need no memory from a pool, which would take as long as a part of the product.
  static constexpr std::size_t bytes_on_stack = 64 << 10;

  /// Returns memory for the lists, or nothing if they fit on the stack.
  [[nodiscard]] static detail::host_tensor<T> list_memory(const memory_pool& memory,
                                                          const kernels::matmul_sizes& s) {
    const depths depth(s.k);
    const std::size_t row_bytes = depth.size * sizeof(nonzero<T>) + sizeof(std::uint32_t);
    const std::size_t bytes = depth.blocks * s.m * row_bytes;
    return bytes <= bytes_on_stack ? detail::host_tensor<T>()
                                   : detail::host_tensor<T>(memory, {bytes}, element::byte);
  }

  using panel_of_b = product_panel<T, Loops, depths::max_size, max_vectors>;

  struct region {
    std::size_t row;
    std::size_t rows;
    std::size_t column;
    std::size_t columns;
    std::size_t width;  // columns plus the padding to whole vectors
  };

  /// Lists of A's nonzeros, one for each depth block and row.
  struct row_lists {
    depths depth;
    std::size_t rows;
    nonzero<T>* entries;
    std::uint32_t* counts;
    [[nodiscard]] nonzero<T>* list(std::size_t block, std::size_t row) const {
      return entries + (block * rows + row) * depth.size;
    }
    [[nodiscard]] std::uint32_t& count(std::size_t block, std::size_t row) const {
      return counts[block * rows + row];
    }
  };

  /// Lists the nonzeros of the given rows of A.
  static void list(const Loops& loops, const matrix<T>& a, const row_lists& lists, std::size_t row,
                   std::size_t rows) {
    const depths& depth = lists.depth;
    for (std::size_t block = 0; block < depth.blocks; ++block) {
      const std::size_t first = block * depth.size;
      const std::size_t length = depth.rows(block);
      std::size_t i = row;
      for (; a.transposed && i + 8 <= row + rows; i += 8) {
        std::size_t eight[8];
        loops.list_nonzeros_of_columns(a.data + first * a.row_step + i, a.row_step, length,
                                       lists.list(block, i), depth.size, eight);
        for (std::size_t j = 0; j < 8; ++j) {
          lists.count(block, i + j) = static_cast<std::uint32_t>(eight[j]);
        }
      }
      for (; i < row + rows; ++i) {
        T column[depths::max_size];
        const T* source = a.data + i * a.row_step + first;
        if (a.transposed) {
          source = column;
          for (std::size_t k = 0; k < length; ++k) {
            column[k] = a.data[(first + k) * a.row_step + i];
          }
        }
        lists.count(block, i) =
            static_cast<std::uint32_t>(loops.list_nonzeros(source, length, lists.list(block, i)));
      }
    }
  }

  /// Computes the sums of one block of rows of C in one panel. Returns false as soon as it finds an
  /// element of B that is not finite.
  static bool multiply_block(const Loops& loops, const row_lists& lists, const matrix<T>& b, T* c,
                             std::size_t c_step, const region& area) {
    const depths& depth = lists.depth;
    const bool whole = area.columns == area.width;
    // Rows of a panel are read in any order, from a first-level cache. For few rows of A, a copy of
    // rows that are not aligned, or that compete for the same cache sets, does not pay off.
    constexpr std::size_t worth_copying = 8;
    const bool copied = area.rows >= worth_copying &&
                        (b.row_step % per_register != 0 || b.row_step * sizeof(T) % 1024 == 0);
    panel_of_b panel(loops, b, area.column, area.columns, copied);
    alignas(Loops::register_bytes) T padded[max_block_rows * max_vectors * per_register];
    T* const target = whole ? c + area.row * c_step + area.column : padded;
    const std::size_t target_step = whole ? c_step : area.width;
    for (std::size_t block = 0; block < depth.blocks; ++block) {
      const T* const rows = panel.rows(block * depth.size, depth.rows(block));
      if (!loops.all_finite_rows(rows, panel.row_step(), depth.rows(block),
                                 area.width / per_register)) {
        return false;
      }
      loops.multiply_nonzeros(nonzero_lists<T>{lists.list(block, area.row), depth.size,
                                               &lists.count(block, area.row), area.rows},
                              rows, panel.row_step(), target, target_step,
                              area.width / per_register, block > 0);
    }
    for (std::size_t i = 0; !whole && i < area.rows; ++i) {
      std::copy_n(padded + i * area.width, area.columns, c + (area.row + i) * c_step + area.column);
    }
    return true;
  }
};

}  // namespace glia::cpu_loops
