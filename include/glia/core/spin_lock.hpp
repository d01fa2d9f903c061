#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "glia/core/platform/process.hpp"

namespace glia::detail {

/// Tells the processor that this loop waits for another thread.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#else
  std::this_thread::yield();
#endif
}

/// A lock for sections of a few instructions, otherwise like `std::mutex`. A child process can
/// acquire a lock that was held by a thread of its parent at the time of the fork. Therefore, the
/// protected data must be valid after every single write.
class spin_lock {
 public:
  void lock() noexcept {
    const std::uint32_t mine = platform::fork_count() + 1;
    for (int tries = 0;; ++tries) {
      std::uint32_t holder = holder_.load(std::memory_order_relaxed);
      if (holder != mine && holder_.compare_exchange_weak(holder, mine, std::memory_order_acquire,
                                                          std::memory_order_relaxed)) {
        return;
      }
      // The holder may be waiting for this core.
      tries < 64 ? spin_pause() : std::this_thread::yield();
    }
  }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> holder_{0};  // 0: unlocked; else the holder's process number plus 1
};

}  // namespace glia::detail
