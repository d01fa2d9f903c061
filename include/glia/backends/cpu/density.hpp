#pragma once

#include <atomic>
#include <cstddef>

#include "glia/backends/cpu/workers.hpp"

namespace glia::cpu_loops {

/// The share of elements of x[0] ... x[n - 1] that are not zero, 0 ... 1. n > 0.
template <class T>
[[nodiscard]] double density(const workers& team, const T* x, std::size_t n) {
  std::atomic<std::size_t> count{0};
  team.for_blocks(
      n, workers::elements_per_block, [&](auto kernels, std::size_t first, std::size_t some) {
        count.fetch_add(kernels.count_nonzeros(x + first, some), std::memory_order_relaxed);
      });
  return static_cast<double>(count.load()) / static_cast<double>(n);
}

}  // namespace glia::cpu_loops
