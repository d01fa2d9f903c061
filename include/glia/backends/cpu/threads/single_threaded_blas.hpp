#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include "glia/backends/cpu/isa/blas.hpp"
#include "glia/core/spin_lock.hpp"

namespace glia::cpu_loops {

/// Limits OpenBLAS to one thread during the lifetime of the object. The cpu backend calls OpenBLAS
/// from its own threads, and two thread pools on the same cores slow each other down. The setting
/// applies to the whole program, so the last object to be destroyed, on any thread, restores it.
/// Other BLAS libraries keep their setting.
class single_threaded_blas {
 public:
  single_threaded_blas() {
    if constexpr (has_blas) {
      begin();
    }
  }
  single_threaded_blas(const single_threaded_blas&) = delete;
  single_threaded_blas& operator=(const single_threaded_blas&) = delete;
  ~single_threaded_blas() {
    if constexpr (has_blas) {
      end();
    }
  }

 private:
  static void begin() {
    for (std::size_t holders = shared().holders.load(); holders > 0;) {
      if (shared().holders.compare_exchange_weak(holders, holders + 1)) {
        return;
      }
    }
    const std::lock_guard guard(shared().lock);
    if (shared().holders.load() == 0) {
      shared().previous_threads = blas().threads != nullptr ? blas().threads() : 1;
      set(1);
    }
    shared().holders.fetch_add(1);
  }
  static void end() {
    for (std::size_t holders = shared().holders.load(); holders > 1;) {
      if (shared().holders.compare_exchange_weak(holders, holders - 1)) {
        return;
      }
    }
    const std::lock_guard guard(shared().lock);
    if (shared().holders.fetch_sub(1) == 1) {
      set(shared().previous_threads);
    }
  }

  // OpenBLAS has one setting for the whole program, so this state is global as well.
  struct state {
    detail::spin_lock lock;
    std::atomic<std::size_t> holders{0};
    int previous_threads = 1;
  };
  static state& shared() noexcept {
    static state value;
    return value;
  }

  static void set(int threads) {
    if (shared().previous_threads != 1) {
      blas().set_threads(threads);
    }
  }
};

}  // namespace glia::cpu_loops
