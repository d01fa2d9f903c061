#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/isa/blas.hpp"
#include "glia/backends/cpu/products/dense_product.hpp"
#include "glia/backends/cpu/products/density.hpp"
#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/gemm.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/products/sparse_product.hpp"
#include "glia/backends/cpu/threads/single_threaded_blas.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/packed_weights.hpp"
#include "glia/kernels/products.hpp"

namespace glia::cpu_loops {

/// Computes matrix products, cut into blocks of columns or rows for the threads. The order of each
/// sum depends only on sizes and zeros, so the result does not depend on the number of threads.
template <class T>
class products {
 public:
  using tensor = detail::tensor_view<T>;

  explicit products(const workers& team) : team_(&team) {}

  void compute(const kernels::matmul& k, const memory_pool& memory, const tensor& a,
               const tensor& b, const tensor& c) const {
    multiply(a.data(), b.data(), c.data(),
             kernels::matmul_rule(a.shape(), b.shape(), k.transposed_factor), k.transposed_factor,
             {}, memory);
  }

  void compute(const kernels::batched_matmul& k, const memory_pool& memory, const tensor& a,
               const tensor& b, const tensor& c) const {
    const kernels::matmul_sizes s =
        kernels::batched_matmul_rule(a.shape(), b.shape(), k.transposed_factor);
    if (c.size() > 0) {
      multiply_batch(a.data(), b.data(), c.data(), c.size() / (s.m * s.n), s, k.transposed_factor,
                     memory);
    }
  }

  void compute(const kernels::dense& k, const memory_pool& memory, const tensor& x, const tensor& w,
               const tensor& bias, const tensor& y) const {
    multiply(x.data(), w.data(), y.data(),
             kernels::matmul_rule(x.shape(), w.shape(), transpose::none), transpose::none,
             {bias.data(), k.map}, memory);
  }
  void compute(const kernels::packed_dense& k, const memory_pool& memory, const tensor& x,
               const tensor& w, const tensor& bias, const tensor& packed, const tensor& y) const {
    multiply(x.data(), w.data(), y.data(),
             kernels::matmul_rule(x.shape(), w.shape(), transpose::none), transpose::none,
             {bias.data(), k.map}, memory, packed.data());
  }

  /// Computes C = last(A B), with A or B transposed. `packed` is null or the result of
  /// `pack_panels`.
  void multiply(const T* a, const T* b, T* c, const kernels::matmul_sizes& s,
                transpose transposed_factor, const epilogue<T>& last, const memory_pool& memory,
                const T* packed = nullptr) const {
    const matrix<T> left = first_factor(a, s, transposed_factor);
    const matrix<T> right = second_factor(b, s, transposed_factor);
    if (s.m == 0 || s.n == 0) {
      return;
    }
    if (s.k > longest_depth) {
      multiply_in_parts(left, right, c, s, last, memory);
    } else {
      multiply(left, right, c, s, last, memory, packed);
    }
  }

  /// Computes c, of `size` elements, as the sum of some parts, with compensation. compute(i,
  /// target) computes part i.
  template <class Compute>
  void add_parts(std::size_t parts, std::size_t size, T* c, const memory_pool& memory,
                 const Compute& compute) const {
    const detail::host_tensor<T> part(memory, {size});
    const detail::host_tensor<T> lost(memory, {size});
    std::fill_n(c, size, T{0});
    std::fill_n(lost.data(), size, T{0});
    const auto for_blocks = [&](const auto& body) {
      team_->for_blocks(size, workers::elements_per_block, body);
    };
    for (std::size_t i = 0; i < parts; ++i) {
      compute(i, part.data());
      for_blocks([&](auto loops, std::size_t start, std::size_t count) {
        loops.add_compensated(part.data() + start, c + start, lost.data() + start, count);
      });
    }
    for_blocks([&](auto loops, std::size_t start, std::size_t count) {
      loops.end_compensated(c + start, lost.data() + start, count);
    });
  }

  /// Multiplies by BLAS, for products without many zeros for which panels are not faster.
  void multiply_by_blas(const matrix<T>& a, const matrix<T>& b, T* c,
                        const kernels::matmul_sizes& s, const epilogue<T>& last) const {
    const bool by_columns = s.n >= s.m;
    const std::size_t extent = by_columns ? s.n : s.m;
    const std::size_t block = block_of(extent, 2 * s.m * s.n * s.k);
    const single_threaded_blas one_thread_each;
    team_->for_blocks(extent, block, [&](auto loops, std::size_t first, std::size_t count) {
      if (by_columns) {
        gemm<T>(s.m, count, s.k, a, b.columns_from(first), T{0}, c + first, s.n);
        last.apply(loops, c, s.n, s.m, first, count);
      } else {
        gemm<T>(count, s.n, s.k, a.rows_from(first), b, T{0}, c + first * s.n, s.n);
        last.apply(loops, c + first * s.n, s.n, count, 0, s.n);
      }
    });
  }

 private:
  // Smaller blocks spend more time on packing and hand-over than on arithmetic.
  static constexpr std::size_t flops_per_block = 12'000'000;
  // Half of a product of this size still takes longer than its hand-over to a second thread.
  static constexpr std::size_t flops_worth_halving = 500'000;
  // Each block packs the whole operand that is not cut. At 1000 x 1568 x 256, blocks of 16 rows
  // reach 60 GFLOP/s per thread, and blocks of 96 rows reach 83.
  static constexpr std::size_t extent_per_block = 96;
  static constexpr std::size_t max_blocks = 64;
  static constexpr std::size_t alignment = 8;
  // Up to this number of terms, all algorithms stay within product_error.
  static constexpr std::size_t longest_depth = 8 * detail::blas_chain;

  void multiply(const matrix<T>& left, const matrix<T>& right, T* c, const kernels::matmul_sizes& s,
                const epilogue<T>& last, const memory_pool& memory, const T* packed) const {
    if (team_->rounded<T>() != nullptr) {
      team_->rounded<T>()->multiply(*team_, memory, left, right, c, s, last, packed);
      return;
    }
    with_isa(team_->level(), [&](auto loops) {
      using sparse = sparse_product<T, decltype(loops)>;
      using dense = dense_product<T, decltype(loops)>;
      if (sparse::possible(s)) {
        if (density_of(left, s) < sparse::worthwhile_density) {
          if (sparse::multiply(loops, *team_, memory, left, right, c, s, last)) {
            return;
          }
        } else if (team_->threads() == 1) {
          sparse::reserve(memory, s);  // for real time, memory must not depend on the numbers
        }
      }
      if (dense::preferred(*team_, s)) {
        dense::multiply(loops, *team_, memory, left, right, c, s, last, packed);
      } else if constexpr (has_blas) {
        multiply_by_blas(left, right, c, s, last);
      }
    });
  }

  /// Multiplies a batch of matrices. One thread computes each product if the products are small or
  /// many. A few large products are cut. The choice depends only on sizes.
  void multiply_batch(const T* a, const T* b, T* c, std::size_t batch,
                      const kernels::matmul_sizes& s, transpose transposed_factor,
                      const memory_pool& memory) const {
    const std::size_t flops = std::max<std::size_t>(2 * s.m * s.n * s.k, 1);
    if ((flops >= flops_worth_halving && batch < max_blocks) || s.k > longest_depth) {
      for (std::size_t i = 0; i < batch; ++i) {
        multiply(a + i * s.m * s.k, b + i * s.k * s.n, c + i * s.m * s.n, s, transposed_factor, {},
                 memory);
      }
      return;
    }
    const std::size_t block = std::max<std::size_t>(flops_worth_halving / flops, 1);
    const auto for_each = [&](const auto& multiply_one) {
      team_->run((batch + block - 1) / block, [&](std::size_t task, std::size_t thread) {
        const std::size_t end = std::min(batch, (task + 1) * block);
        for (std::size_t i = task * block; i < end; ++i) {
          multiply_one(first_factor(a + i * s.m * s.k, s, transposed_factor),
                       second_factor(b + i * s.k * s.n, s, transposed_factor), c + i * s.m * s.n,
                       thread);
        }
      });
    };
    if (team_->rounded<T>() != nullptr) {
      const std::size_t size = team_->rounded<T>()->scratch_size(s);
      const detail::host_tensor<T> scratch(memory, {team_->threads(), size});
      for_each([&](const matrix<T>& left, const matrix<T>& right, T* target, std::size_t thread) {
        team_->rounded<T>()->multiply_here(left, right, target, s.n, s,
                                           scratch.data() + thread * size, false);
      });
      return;
    }
    with_isa(team_->level(), [&](auto loops) {
      using dense = dense_product<T, decltype(loops)>;
      if (dense::preferred(*team_, s)) {
        for_each([&](const matrix<T>& left, const matrix<T>& right, T* target, std::size_t) {
          dense::multiply_here(loops, left, right, target, s.n, s);
        });
      } else if constexpr (has_blas) {
        const single_threaded_blas one_thread_each;
        for_each([&](const matrix<T>& left, const matrix<T>& right, T* target, std::size_t) {
          gemm<T>(s.m, s.n, s.k, left, right, T{0}, target, s.n);
        });
      }
    });
  }

  /// Computes the sums in parts and adds the parts with compensation.
  void multiply_in_parts(const matrix<T>& left, const matrix<T>& right, T* c,
                         const kernels::matmul_sizes& s, const epilogue<T>& last,
                         const memory_pool& memory) const {
    const std::size_t parts = (s.k + longest_depth - 1) / longest_depth;
    add_parts(parts, s.m * s.n, c, memory, [&](std::size_t part, T* target) {
      const std::size_t first = part * longest_depth;
      kernels::matmul_sizes part_sizes = s;
      part_sizes.k = std::min(longest_depth, s.k - first);
      multiply(left.columns_from(first), right.rows_from(first), target, part_sizes, {}, memory,
               nullptr);
    });
    with_isa(team_->level(), [&](auto loops) { last.apply(loops, c, s.n, s.m, 0, s.n); });
  }

  /// Returns the fraction of nonzeros in a. If a consists of parts of wider rows, the whole rows
  /// are counted.
  [[nodiscard]] double density_of(const matrix<T>& a, const kernels::matmul_sizes& s) const {
    const std::size_t rows = a.transposed ? s.k : s.m;
    return density(team_->level(), a.data, (rows - 1) * a.row_step + (a.transposed ? s.m : s.k));
  }

  static matrix<T> first_factor(const T* a, const kernels::matmul_sizes& s,
                                transpose transposed_factor) {
    const bool transposed = transposed_factor == transpose::first;
    return {a, transposed ? s.m : s.k, transposed};
  }
  static matrix<T> second_factor(const T* b, const kernels::matmul_sizes& s,
                                 transpose transposed_factor) {
    const bool transposed = transposed_factor == transpose::second;
    return {b, transposed ? s.k : s.n, transposed};
  }

  /// Returns the number of rows or columns per block. An even number of blocks distributes evenly.
  static std::size_t block_of(std::size_t extent, std::size_t flops) {
    const std::size_t min_count = flops < flops_worth_halving ? 1 : 2;
    const std::size_t max_count =
        std::clamp<std::size_t>(extent / extent_per_block / 2 * 2, min_count, max_blocks);
    const std::size_t count =
        std::clamp<std::size_t>(flops / flops_per_block, min_count, max_count);
    return ((extent + count - 1) / count + alignment - 1) / alignment * alignment;
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
