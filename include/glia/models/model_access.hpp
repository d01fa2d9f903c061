#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "glia/core/error.hpp"
#include "glia/core/platform/process.hpp"
#include "glia/core/spin_lock.hpp"

namespace glia {

/// A lock on a model's parameters: any number of threads read them at the same time, or one thread
/// trains them. Readers wait for the current training step, and a step waits for earlier readers. A
/// second thread that tries to train gets an error. A copy is an independent lock. The lock has its
/// own cache line, so that writes to it do not slow down threads that read neighboring data.
class alignas(64) model_access {
 public:
  model_access() = default;
  model_access(const model_access&) noexcept {}
  model_access& operator=(const model_access&) noexcept { return *this; }

  /// A read lock: while it exists, no other thread changes the parameters. The thread that trains
  /// can also read.
  class reading {
   public:
    explicit reading(const model_access& gate) noexcept
        : gate_(gate.trained_here() ? nullptr : &gate) {
      if (gate_ != nullptr) {
        gate_->enter(reader);
      }
    }
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;
    ~reading() {
      if (gate_ != nullptr) {
        gate_->word_.fetch_sub(reader, std::memory_order_release);
      }
    }

   private:
    const model_access* gate_;
  };

  /// A write lock: while it exists, no other thread reads or changes the parameters. The
  /// constructor throws `value_error` if another thread trains them. Can be nested in one thread.
  class training {
   public:
    explicit training(const model_access& gate) : gate_(gate.trained_here() ? nullptr : &gate) {
      if (gate_ == nullptr) {
        return;
      }
      require<value_error>(
          gate_->enter(claimed),
          "another thread is training this model; train or change a copy, or do it on one thread "
          "at a time");
      gate_->trainer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
      for (int tries = 0; gate_->word_.load(std::memory_order_acquire) & readers; ++tries) {
        wait(tries);
      }
    }
    training(const training&) = delete;
    training& operator=(const training&) = delete;
    ~training() {
      if (gate_ != nullptr) {
        gate_->trainer_.store(std::thread::id(), std::memory_order_relaxed);
        gate_->word_.fetch_and(~claimed, std::memory_order_release);
      }
    }

   private:
    const model_access* gate_;
  };

 private:
  // The low half counts readers; its highest bit is set while a thread trains. The high half is the
  // number of the process, because a child process does not have the threads of its parent.
  static constexpr std::uint64_t reader = 1;
  static constexpr std::uint64_t claimed = 0x80000000;
  static constexpr std::uint64_t readers = claimed - 1;

  [[nodiscard]] bool trained_here() const noexcept {
    return trainer_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  static void wait(int tries) noexcept {
    tries < 64 ? detail::spin_pause() : std::this_thread::yield();
  }

  /// Adds a reader, or takes the lock for training. Returns false if another thread trains.
  bool enter(std::uint64_t increment) const noexcept {
    const std::uint64_t process = std::uint64_t{platform::fork_count()} << 32;
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (int tries = 0;; ++tries) {
      const std::uint64_t current = word >> 32 == process >> 32 ? word : process;
      if ((current & claimed) != 0) {
        if (increment == claimed) {
          return false;
        }
        wait(tries);
        word = word_.load(std::memory_order_relaxed);
      } else if (word_.compare_exchange_weak(word, current + increment, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        return true;
      }
    }
  }

  mutable std::atomic<std::uint64_t> word_{0};
  mutable std::atomic<std::thread::id> trainer_{};
};

}  // namespace glia
