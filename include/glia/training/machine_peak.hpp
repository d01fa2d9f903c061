#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "glia/backends/cpu.hpp"
#include "glia/kernels/products.hpp"

namespace glia::detail {

/// Measures the machine's peak speed in FLOP/s: the best of 30 matrix products in `float`, on all
/// cores, with matrices that fit into the caches. Takes a few hundredths of a second and 4 MB.
[[nodiscard]] inline double measure_peak_flops() {
  constexpr std::size_t side = 512;
  constexpr int rounds = 30;
  const cpu<float> device;
  const std::vector<float> values(side * side, 1.0F);
  const auto square = device.from_host(std::span<const float>(values), {side, side});
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    (void)device.run(kernels::matmul{}, square, square);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * side * side * side / best;
}

}  // namespace glia::detail
