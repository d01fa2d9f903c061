#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <type_traits>
#include <vector>

#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu_products.hpp"
#include "glia/core/busy_time.hpp"
#include "glia/core/flush_denormals.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/core/thread_pool.hpp"

namespace glia::cpu_loops {

/// The threads and the instruction set for the loops of the cpu backend.
class workers {
 public:
  /// `blas_fits` says whether BLAS computes the products for which it is faster than these loops.
  workers(std::size_t threads, isa level, const cpu_products& precision, bool blas_fits)
      : pool_(threads),
        level_(level),
        rounded_(precision.rounded == nullptr ? nullptr : precision.rounded(level)),
        blas_fits_(blas_fits) {}

  [[nodiscard]] std::size_t threads() const noexcept { return pool_.size(); }
  [[nodiscard]] isa level() const noexcept { return level_; }
  /// Returns the products with rounded factors, or null if factors are not rounded. Those of double
  /// numbers never are.
  template <class T>
  [[nodiscard]] const rounded_loops<T>* rounded() const noexcept {
    if constexpr (std::is_same_v<T, float>) {
      return rounded_;
    } else {
      return nullptr;
    }
  }
  /// Returns whether BLAS computes the products for which it is faster; see blas_check.hpp.
  [[nodiscard]] bool blas_fits() const noexcept { return blas_fits_; }

  /// Calls body(loops, first, count) for consecutive blocks that cover 0 ... n - 1. The block
  /// borders depend only on n and `block`, never on the number of threads.
  template <class Body>
  void for_blocks(std::size_t n, std::size_t block, const Body& body) const {
    for_blocks_by_thread(n, block,
                         [&](auto loops, std::size_t first, std::size_t count, std::size_t) {
                           body(loops, first, count);
                         });
  }

  /// Calls body(loops, first, count, thread) for the same blocks, with thread < threads(). The body
  /// can use scratch memory of its thread.
  template <class Body>
  void for_blocks_by_thread(std::size_t n, std::size_t block, const Body& body) const {
    if (n == 0) {
      return;
    }
    with_isa(level_, [&](auto loops) {
      run((n + block - 1) / block, [&](std::size_t i, std::size_t thread) {
        body(loops, i * block, std::min(block, n - i * block), thread);
      });
    });
  }

  /// Calls body(task, thread) for task = 0 ... count - 1. Use this function for bodies that do not
  /// need `loops`, or already have them.
  template <class Body>
  void run(std::size_t count, const Body& body) const {
    if (log_.watched()) {
      run_watched(count, body);
      return;
    }
    pool_.parallel_for(count, [&](std::size_t task, std::size_t thread) {
      const flush_denormals on_this_thread;
      body(task, thread);
    });
  }

  /// Calls body(loops, first, count) for blocks of at least one row and about `elements_per_block`
  /// elements.
  template <class Body>
  void for_rows(std::size_t rows, std::size_t columns, const Body& body) const {
    for_blocks(rows,
               std::max<std::size_t>(1, elements_per_block / std::max<std::size_t>(columns, 1)),
               body);
  }

  /// Calls body(loops, row, first, count) for ranges that cover rows of `length` elements. A range
  /// is a whole row or, if there is only one row, a block of it.
  template <class Body>
  void for_stretches(std::size_t rows, std::size_t length, const Body& body) const {
    if (rows == 1 || length == 0) {
      for_blocks(length, elements_per_block, [&](auto loops, std::size_t first, std::size_t count) {
        body(loops, std::size_t{0}, first, count);
      });
      return;
    }
    for_rows(rows, length, [&](auto loops, std::size_t first, std::size_t count) {
      for (std::size_t row = first; row < first + count; ++row) {
        body(loops, row, std::size_t{0}, length);
      }
    });
  }

  /// Calls body(loops, i) for i = 0 ... count - 1.
  template <class Body>
  void for_each(std::size_t count, const Body& body) const {
    for_blocks(count, 1, [&](auto loops, std::size_t i, std::size_t) { body(loops, i); });
  }

  /// Returns the log of busy times of each thread. Loops write to it while profiling is active.
  [[nodiscard]] detail::busy_log& log() const noexcept { return log_; }

  // A block of this length takes some microseconds, long enough to outweigh its hand-over.
  static constexpr std::size_t elements_per_block = 16384;

 private:
  void run_watched(std::size_t count, function_ref<void(std::size_t, std::size_t)> body) const {
    std::vector<detail::busy_time> busy(pool_.size());
    pool_.parallel_for(count, [&](std::size_t task, std::size_t thread) {
      const flush_denormals on_this_thread;
      detail::busy_time& mine = busy[thread];
      if (mine.begin == 0) {
        mine = {std::this_thread::get_id(), detail::nanoseconds_now()};
      }
      body(task, thread);
      mine.end = detail::nanoseconds_now();
    });
    for (std::size_t thread = 1; thread < busy.size(); ++thread) {  // 0 is the caller
      if (busy[thread].begin != 0) {
        log_.add(busy[thread]);
      }
    }
  }

  mutable thread_pool pool_;
  mutable detail::busy_log log_;
  isa level_;
  const rounded_loops<float>* rounded_;
  bool blas_fits_;
};

}  // namespace glia::cpu_loops
