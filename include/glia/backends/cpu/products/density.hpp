#pragma once

#include <atomic>
#include <cstddef>

#include "glia/backends/cpu/threads/workers.hpp"

namespace glia::cpu_loops {

/// Estimates the share of nonzero elements of x[0] ... x[n - 1], 0 ... 1, from a few thousand
/// samples. n > 0. Use the estimate only to select an algorithm: a wrong estimate can cost time but
/// must not change results.
template <class T>
[[nodiscard]] double density(isa level, const T* x, std::size_t n) {
  constexpr std::size_t stretch = 128;
  constexpr std::size_t stretches = 32;
  return with_isa(level, [&](auto loops) {
    if (n <= stretch * stretches) {
      return static_cast<double>(loops.count_nonzeros(x, n)) / static_cast<double>(n);
    }
    // Multiples of the golden ratio select positions that never coincide and do not follow the
    // period of rows or images.
    constexpr double golden = 0.6180339887498949;
    std::size_t count = 0;
    for (std::size_t i = 0; i < stretches; ++i) {
      const double position = static_cast<double>(i) * golden;
      const double share = position - static_cast<double>(static_cast<std::size_t>(position));
      const auto first = static_cast<std::size_t>(share * static_cast<double>(n - stretch));
      count += loops.count_nonzeros(x + first, stretch);
    }
    return static_cast<double>(count) / (stretch * stretches);
  });
}

/// Returns whether the products of `scale` and x[0] ... x[n - 1] are finite.
template <class T>
[[nodiscard]] bool all_finite(const workers& team, const T* x, std::size_t n, T scale = T{1}) {
  std::atomic<bool> finite{true};
  team.for_blocks(n, workers::elements_per_block,
                  [&](auto loops, std::size_t first, std::size_t count) {
                    if (scale == 1 ? !loops.all_finite(x + first, count)
                                   : !loops.all_products_finite(x + first, count, scale)) {
                      finite.store(false, std::memory_order_relaxed);
                    }
                  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace glia::cpu_loops
