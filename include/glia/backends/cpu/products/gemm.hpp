#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/isa/blas.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/long_sum.hpp"

#ifndef GLIA_BLAS_NONE
#include <xtensor-blas/xblas.hpp>
#endif

namespace glia::cpu_loops {

/// Computes C (m, n) = A (m, k) B (k, n) + beta C with BLAS on the calling thread. If k is large,
/// BLAS is called for a part of the sum at a time; see long_sum.hpp. Without BLAS, it is deleted.
template <class T>
void gemm(std::size_t m, std::size_t n, std::size_t k, const matrix<T>& a, const matrix<T>& b,
          T beta, T* c, std::size_t c_row_step)
#ifdef GLIA_BLAS_NONE
    = delete;
#else
{
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
#endif

}  // namespace glia::cpu_loops
