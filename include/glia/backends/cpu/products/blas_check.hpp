#pragma once

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <vector>

#include "glia/backends/cpu/isa/blas.hpp"
#include "glia/backends/cpu/isa/isa.hpp"
#include "glia/backends/cpu/products/gemm.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/threads/single_threaded_blas.hpp"

namespace glia::cpu_loops {

/// Returns whether products of BLAS equal those of a plain loop, for the transposed operands that
/// glia uses. The matrices contain small integers, so that every order of the sums gives the exact
/// result. They are too large for the kernels that some versions have for small matrices, k is
/// longer than a block, and m and n are not multiples of a tile.
template <class T>
[[nodiscard]] bool blas_multiplies() {
  constexpr std::size_t m = 29, n = 31, k = 401;
  std::vector<T> a(m * k), a_transposed(k * m), b(k * n), b_transposed(n * k), expected(m * n);
  std::uint32_t random = 1;
  const auto fill = [&](std::vector<T>& x, std::vector<T>& transposed, std::size_t rows) {
    const std::size_t columns = x.size() / rows;
    for (std::size_t i = 0; i < x.size(); ++i) {
      random = random * 1664525U + 1013904223U;
      x[i] = static_cast<T>(random >> 28U) - T{8};
      transposed[i % columns * rows + i / columns] = x[i];
    }
  };
  fill(a, a_transposed, m);
  fill(b, b_transposed, k);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t column = 0; column < n; ++column) {
        expected[row * n + column] += 2 * a[row * k + i] * b[i * n + column];
      }
    }
  }
  const single_threaded_blas one_thread;
  const auto multiplies = [&](const matrix<T>& left, const matrix<T>& right) {
    std::vector<T> c(m * n, std::numeric_limits<T>::quiet_NaN());  // beta = 0 must not read it
    gemm<T>(m, n, k, left, right, T{0}, c.data(), n);
    gemm<T>(m, n, k, left, right, T{1}, c.data(), n);
    return c == expected;
  };
  return multiplies({a.data(), k}, {b.data(), n}) &&
         multiplies({a_transposed.data(), m, true}, {b.data(), n}) &&
         multiplies({a.data(), k}, {b_transposed.data(), k, true});
}

/// Returns whether BLAS passes the check. It runs once per process and type and takes less than a
/// millisecond. A failure is reported on std::cerr.
template <class T>
[[nodiscard]] bool blas_is_right() {
  static const bool right = [] {
    const bool passed = blas_multiplies<T>();
    if (!passed) {
      std::cerr << "glia: the BLAS library (" << blas_name() << ") computes wrong products of "
                << (sizeof(T) == sizeof(float) ? "float" : "double")
                << " matrices. glia does not use it, and large products take longer. Install "
                   "another version of BLAS, or build glia with GLIA_BLAS=none."
                << std::endl;
    }
    return passed;
  }();
  return right;
}

/// Whether loops use BLAS for the products for which it is faster, or the reason why not.
enum class blas_use : std::uint8_t { used, absent, slower, unknown_processor, wrong };

/// Returns whether the loops of an instruction set use BLAS, or why they do not. Checks BLAS only
/// if they would.
template <class T>
[[nodiscard]] blas_use use_of_blas(isa level) {
  if constexpr (!has_blas) {
    return blas_use::absent;
  } else if (level == isa::avx512) {
    return blas_use::slower;
  } else if (!blas_knows(level)) {
    return blas_use::unknown_processor;
  } else {
    return blas_is_right<T>() ? blas_use::used : blas_use::wrong;
  }
}

}  // namespace glia::cpu_loops
