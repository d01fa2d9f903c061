#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>

#include <xtensor-blas/xblas.hpp>
#include "glia/backends/long_sum.hpp"
#include "glia/core/spin_lock.hpp"
#include "glia/kernels/products.hpp"

// xtensor-blas's CBLAS header lacks these declarations. They are weak because other BLAS libraries
// do not define the functions.
extern "C" {
[[gnu::weak]] void openblas_set_num_threads(int threads);
[[gnu::weak]] int openblas_get_num_threads();
}

namespace glia::cpu_loops {

/// Limits OpenBLAS to one thread during the lifetime of the object. The cpu backend calls OpenBLAS
/// from its own threads, and two thread pools on the same cores slow each other down. The setting
/// applies to the whole program, so the last object to be destroyed, on any thread, restores it.
class single_threaded_blas {
 public:
  single_threaded_blas() {
    for (std::size_t holders = shared().holders.load(); holders > 0;) {
      if (shared().holders.compare_exchange_weak(holders, holders + 1)) {
        return;
      }
    }
    const std::lock_guard guard(shared().lock);
    if (shared().holders.load() == 0) {
      shared().before = openblas_get_num_threads ? openblas_get_num_threads() : 1;
      set(1);
    }
    shared().holders.fetch_add(1);
  }
  single_threaded_blas(const single_threaded_blas&) = delete;
  single_threaded_blas& operator=(const single_threaded_blas&) = delete;
  ~single_threaded_blas() {
    for (std::size_t holders = shared().holders.load(); holders > 1;) {
      if (shared().holders.compare_exchange_weak(holders, holders - 1)) {
        return;
      }
    }
    const std::lock_guard guard(shared().lock);
    if (shared().holders.fetch_sub(1) == 1) {
      set(shared().before);
    }
  }

 private:
  // OpenBLAS has one setting for the whole program, so this state is global as well.
  struct state {
    spin_lock lock;
    std::atomic<std::size_t> holders{0};
    int before = 1;
  };
  static state& shared() noexcept {
    static state value;
    return value;
  }

  static void set(int threads) {
    if (shared().before != 1) {
      openblas_set_num_threads(threads);
    }
  }
};

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
  const std::size_t parts = std::max<std::size_t>((k + blas_chain - 1) / blas_chain, 1);
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
