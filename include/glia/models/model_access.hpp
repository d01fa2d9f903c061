#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "glia/core/error.hpp"
#include "glia/core/process.hpp"
#include "glia/core/spin_lock.hpp"

namespace glia {

/// Who may touch a model's parameters: any number of threads read them side by side, one trains
/// them. Readers wait for the step that is in progress, a step waits for the readers before it, and
/// a second thread that wants to train gets an error. A copy is a gate of its own. It has a cache
/// line of its own, since what lies beside it is read while others write here.
class alignas(64) model_access {
 public:
  model_access() = default;
  model_access(const model_access&) noexcept {}
  model_access& operator=(const model_access&) noexcept { return *this; }

  /// While it lives, nobody else changes the parameters. The thread that trains may read as well.
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

  /// While it lives, nobody else reads or changes the parameters. Throws `value_error` where
  /// another thread is training them. Within a thread it may nest.
  class training {
   public:
    explicit training(const model_access& gate) : gate_(gate.trained_here() ? nullptr : &gate) {
      if (gate_ == nullptr) {
        return;
      }
      require<value_error>(
          gate_->enter(claimed),
          "another thread is training this model; train or change a copy of it, or "
          "let one thread at a time do so");
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
  // The low half counts readers, its highest bit says that somebody trains; the high half is the
  // number of the process that this is true for: what threads of a parent hold, a child forgets.
  static constexpr std::uint64_t reader = 1;
  static constexpr std::uint64_t claimed = 0x80000000;
  static constexpr std::uint64_t readers = claimed - 1;

  [[nodiscard]] bool trained_here() const noexcept {
    return trainer_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  static void wait(int tries) noexcept { tries < 64 ? spin_pause() : std::this_thread::yield(); }

  /// Adds a reader, or claims the gate for training; false where another has claimed it.
  bool enter(std::uint64_t what) const noexcept {
    const std::uint64_t process = std::uint64_t{process_number()} << 32;
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (int tries = 0;; ++tries) {
      const std::uint64_t now = word >> 32 == process >> 32 ? word : process;
      if ((now & claimed) != 0) {
        if (what == claimed) {
          return false;
        }
        wait(tries);
        word = word_.load(std::memory_order_relaxed);
      } else if (word_.compare_exchange_weak(word, now + what, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        return true;
      }
    }
  }

  mutable std::atomic<std::uint64_t> word_{0};
  mutable std::atomic<std::thread::id> trainer_{};
};

}  // namespace glia
