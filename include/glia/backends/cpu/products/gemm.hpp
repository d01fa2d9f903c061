#pragma once

#include <algorithm>
#include <cstddef>

#include <xtensor-blas/xblas.hpp>
#include "glia/backends/long_sum.hpp"

namespace glia::cpu_loops {

/// A matrix in memory: its elements, the distance between rows, and whether it is stored
/// transposed.
template <class T>
struct matrix {
  const T* data;
  std::size_t row_step;
  bool transposed = false;

  [[nodiscard]] matrix rows_from(std::size_t first) const {
    return {data + first * (transposed ? 1 : row_step), row_step, transposed};
  }
  [[nodiscard]] matrix columns_from(std::size_t first) const {
    return {data + first * (transposed ? row_step : 1), row_step, transposed};
  }
};

/// Computes C (m, n) = A (m, k) B (k, n) + beta C with BLAS on the calling thread. If k is large,
/// BLAS is called for a part of the sum at a time; see long_sum.hpp.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, const matrix<T>& a, const matrix<T>& b,
          T beta, T* c, std::size_t c_row_step) {
  using index = xt::blas_index_t;
  const auto order = [](bool transposed) { return transposed ? cxxblas::Trans : cxxblas::NoTrans; };
  const std::size_t parts =
      std::max<std::size_t>((k + detail::blas_chain - 1) / detail::blas_chain, 1);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = part * k / parts;
    const std::size_t depth = (part + 1) * k / parts - first;
    cxxblas::gemm(cxxblas::RowMajor, order(a.transposed), order(b.transposed),
                  static_cast<index>(m), static_cast<index>(n), static_cast<index>(depth), T{1},
                  a.columns_from(first).data, static_cast<index>(a.row_step),
                  b.rows_from(first).data, static_cast<index>(b.row_step), part == 0 ? beta : T{1},
                  c, static_cast<index>(c_row_step));
  }
}

}  // namespace glia::cpu_loops
