#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace glia {

/// Runs loops over a fixed set of threads, the caller being one of them.
///
/// The loop's indices are handed out one by one as threads become free, so callers cut their work
/// into blocks whose borders do not depend on the number of threads; then the results do not
/// either. A loop body must not throw and must not start another loop on the same pool; one loop
/// runs at a time, at most 2^32 - 2 indices long.
class thread_pool {
 public:
  /// `threads` counts the caller; 0 means one per core.
  explicit thread_pool(std::size_t threads = 0) {
    if (threads == 0) {
      threads = std::max(1U, std::thread::hardware_concurrency());
    }
    workers_.reserve(threads - 1);
    for (std::size_t i = 1; i < threads; ++i) {
      workers_.emplace_back([this, i] { work(i); });
    }
  }

  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  ~thread_pool() {
    stopping_.store(true);
    publish(closed);
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return workers_.size() + 1; }

  /// Calls body(i, thread) for i = 0, ..., count - 1, each once, and returns when all are done.
  /// `thread` is below size(); no two calls with the same one overlap, so it can number scratch
  /// memory, but must not show in results.
  template <class Body>
  void parallel_for(std::size_t count, const Body& body) {
    if (count <= 1 || workers_.empty()) {
      for (std::size_t i = 0; i < count; ++i) {
        body(i, std::size_t{0});
      }
      return;
    }
    run(
        count,
        [](const void* context, std::size_t i, std::size_t thread) {
          (*static_cast<const Body*>(context))(i, thread);
        },
        &body);
  }

 private:
  using function = void (*)(const void*, std::size_t, std::size_t);

  // A ticket is the loop's generation (high half) and its next index (low half). A thread takes an
  // index by advancing the whole ticket, so one that comes late, with the ticket of a loop that is
  // over, cannot take an index of the next loop, and nobody needs to wait for it.
  static constexpr std::uint64_t closed = 0xFFFFFFFF;
  static constexpr std::uint64_t index_mask = 0xFFFFFFFF;

  // A training step has some twenty short loops: a worker that slept between them would cost more
  // in waking than a loop takes. About 50 microseconds of spinning bridges most gaps.
  static constexpr int spins_before_sleep = 2000;

  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#else
    std::this_thread::yield();
#endif
  }

  void publish(std::uint64_t index) {
    {
      const std::lock_guard lock(mutex_);
      const std::uint64_t generation = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
      ticket_.store((generation << 32) | index, std::memory_order_release);
    }
    wake_.notify_all();
  }

  void run(std::size_t count, function call, const void* context) {
    // Closed first: a late thread that sees the new loop's fields must fail to advance the ticket.
    ticket_.store(ticket_.load(std::memory_order_relaxed) | closed, std::memory_order_relaxed);
    call_.store(call, std::memory_order_release);
    context_.store(context, std::memory_order_release);
    count_.store(count, std::memory_order_release);
    done_.store(0, std::memory_order_relaxed);
    publish(0);
    take_indices(0);
    while (done_.load(std::memory_order_acquire) != count) {
      pause();
    }
  }

  void take_indices(std::size_t thread) {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    for (;;) {
      const std::size_t count = count_.load(std::memory_order_acquire);
      const function call = call_.load(std::memory_order_acquire);
      const void* context = context_.load(std::memory_order_acquire);
      const std::uint64_t index = ticket & index_mask;
      if (index >= count) {
        return;
      }
      if (ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
        call(context, index, thread);
        done_.fetch_add(1, std::memory_order_release);
        ticket = ticket_.load(std::memory_order_acquire);
      }
    }
  }

  [[nodiscard]] std::uint64_t generation() const noexcept {
    return ticket_.load(std::memory_order_acquire) >> 32;
  }

  void work(std::size_t thread) {
    std::uint64_t seen = 0;
    while (!stopping_.load()) {
      for (int spin = 0; spin < spins_before_sleep && generation() == seen; ++spin) {
        pause();
      }
      if (generation() == seen) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return generation() != seen; });
      }
      seen = generation();
      take_indices(thread);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> ticket_{closed};
  std::atomic<function> call_{nullptr};
  std::atomic<const void*> context_{nullptr};
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> done_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace glia
