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

/// Whether none of x[0] ... x[n - 1] is infinite or not a number.
template <class T>
[[nodiscard]] bool all_finite(const workers& team, const T* x, std::size_t n) {
  std::atomic<bool> finite{true};
  team.for_blocks(n, workers::elements_per_block,
                  [&](auto kernels, std::size_t first, std::size_t some) {
                    if (!kernels.all_finite(x + first, some)) {
                      finite.store(false, std::memory_order_relaxed);
                    }
                  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace glia::cpu_loops
