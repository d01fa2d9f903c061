#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/process.hpp"
#include "glia/core/spin_lock.hpp"

namespace glia {

/// Runs loops over a fixed set of threads, the caller being one of them.
///
/// The loop's indices are handed out one by one as threads become free, so callers cut their work
/// into blocks whose borders do not depend on the number of threads; then the results do not
/// either. A loop body must not throw; a loop is at most 2^32 - 2 indices long.
///
/// Any number of threads may call at the same time: a lone caller gets all threads, several share
/// them, and one for whom none is left runs its loop alone. So does a child process that `fork`
/// made, in which the pool's threads do not exist.
class thread_pool {
 public:
  static constexpr std::size_t max_threads = 1024;

  /// `threads` counts the caller; 0 means one per core. Throws `value_error` for more than
  /// max_threads, and where the system does not give so many.
  explicit thread_pool(std::size_t threads = 0) : crew_(std::make_unique<crew>()) {
    if (threads == 0) {
      threads = std::max(1U, std::thread::hardware_concurrency());
    }
    require<value_error>(threads <= max_threads, "thread_pool: expected at most ", max_threads,
                         " threads, got ", threads, "; more than one per core only costs time");
    crew_->loops = std::vector<loop>(threads - 1);
    crew_->threads.reserve(threads - 1);
    try {
      for (std::size_t i = 1; i < threads; ++i) {
        crew_->threads.emplace_back([all = crew_.get(), i] { work(*all, i); });
      }
    } catch (const std::system_error& failure) {
      const std::size_t made = crew_->threads.size() + 1;
      crew_->stop();
      throw value_error(text("thread_pool: asked for ", threads, " threads, but the system gave ",
                             made, " (", failure.what(), "); ask for fewer"));
    }
  }

  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  ~thread_pool() {
    if (forked()) {
      // Neither can the threads be joined here, nor what they wait for be destroyed.
      static_cast<void>(crew_.release());
    } else {
      crew_->stop();
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return crew_->loops.size() + 1; }

  /// Calls body(i, thread) for i = 0, ..., count - 1, each once, and returns when all are done.
  /// `thread` is below size(); within one loop no two calls with the same one overlap, so it can
  /// number scratch memory, but must not show in results.
  template <class Body>
  void parallel_for(std::size_t count, const Body& body) {
    if (count > 1 && size() > 1 && !forked()) {
      const bool shared = crew_->share_out(
          count,
          [](const void* context, std::size_t i, std::size_t thread) {
            (*static_cast<const Body*>(context))(i, thread);
          },
          &body);
      if (shared) {
        return;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      body(i, std::size_t{0});
    }
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
  // A caller whose last index is with a worker that waits for a core must let go of its own.
  static constexpr int spins_before_yield = 4000;

  /// One caller's loop. It can be used again as soon as it is done: see `ticket`.
  struct alignas(64) loop {
    std::atomic<bool> taken{false};
    std::atomic<std::uint64_t> ticket{closed};
    std::atomic<function> call{nullptr};
    std::atomic<const void*> context{nullptr};
    std::atomic<std::size_t> count{0};
    std::atomic<std::ptrdiff_t> helpers{0};  // threads that may still join the caller
    std::atomic<std::size_t> done{0};

    void open(std::size_t n, function body, const void* with, std::ptrdiff_t places) {
      // Closed first: a late thread that sees the new fields must fail to advance the ticket.
      const std::uint64_t before = ticket.load(std::memory_order_relaxed) | closed;
      ticket.store(before, std::memory_order_relaxed);
      call.store(body, std::memory_order_release);
      context.store(with, std::memory_order_release);
      count.store(n, std::memory_order_release);
      done.store(0, std::memory_order_relaxed);
      helpers.store(places, std::memory_order_release);
      ticket.store(before + 1, std::memory_order_release);  // the next generation's index 0
    }

    void take_indices(std::size_t thread) {
      std::uint64_t at = ticket.load(std::memory_order_acquire);
      for (;;) {
        const std::size_t n = count.load(std::memory_order_acquire);
        const function body = call.load(std::memory_order_acquire);
        const void* with = context.load(std::memory_order_acquire);
        const std::uint64_t index = at & index_mask;
        if (index >= n) {
          return;
        }
        if (ticket.compare_exchange_weak(at, at + 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
          body(with, index, thread);
          done.fetch_add(1, std::memory_order_release);
          at = ticket.load(std::memory_order_acquire);
        }
      }
    }
  };

  /// What callers and workers share. It stays where it is, and is left alone after a fork.
  struct crew {
    std::vector<loop> loops;  // one per worker: more could not be helped
    std::vector<std::thread> threads;
    std::atomic<std::size_t> callers{0};
    std::atomic<std::uint64_t> opened{0};  // loops so far
    std::atomic<std::size_t> sleeping{0};
    std::atomic<bool> stopping{false};
    std::mutex mutex;
    std::condition_variable wake;
    std::uint32_t process = process_number();

    /// False if this caller is to run its loop alone.
    bool share_out(std::size_t count, function body, const void* context) {
      const caller_count here(callers);
      const std::size_t share = (threads.size() + 1) / here.all;  // of the threads, for this loop
      loop* mine = share > 1 ? free_loop() : nullptr;
      if (mine == nullptr) {
        return false;
      }
      mine->open(count, body, context, static_cast<std::ptrdiff_t>(share) - 1);
      announce();
      mine->take_indices(0);
      for (int spins = 0; mine->done.load(std::memory_order_acquire) != count; ++spins) {
        spins < spins_before_yield ? spin_pause() : std::this_thread::yield();
      }
      mine->taken.store(false, std::memory_order_release);
      return true;
    }

    void announce() {
      opened.fetch_add(1);
      if (sleeping.load() > 0) {
        { const std::lock_guard lock(mutex); }
        wake.notify_all();
      }
    }

    void stop() {
      stopping.store(true);
      announce();
      for (std::thread& thread : threads) {
        thread.join();
      }
      threads.clear();
    }

   private:
    struct caller_count {
      explicit caller_count(std::atomic<std::size_t>& callers)
          : count(callers), all(callers.fetch_add(1, std::memory_order_relaxed) + 1) {}
      caller_count(const caller_count&) = delete;
      caller_count& operator=(const caller_count&) = delete;
      ~caller_count() { count.fetch_sub(1, std::memory_order_relaxed); }
      std::atomic<std::size_t>& count;
      std::size_t all;
    };

    loop* free_loop() {
      for (loop& one : loops) {
        if (!one.taken.load(std::memory_order_relaxed) &&
            !one.taken.exchange(true, std::memory_order_acquire)) {
          return &one;
        }
      }
      return nullptr;
    }
  };

  [[nodiscard]] bool forked() const noexcept { return crew_->process != process_number(); }

  static void help(crew& all, std::size_t thread) {
    for (loop& one : all.loops) {
      if (one.helpers.load(std::memory_order_relaxed) > 0 && one.helpers.fetch_sub(1) > 0) {
        one.take_indices(thread);
      }
    }
  }

  static void work(crew& all, std::size_t thread) {
    std::uint64_t seen = 0;
    while (!all.stopping.load()) {
      for (int spin = 0; spin < spins_before_sleep && all.opened.load() == seen; ++spin) {
        spin_pause();
      }
      if (all.opened.load() == seen) {
        std::unique_lock lock(all.mutex);
        all.sleeping.fetch_add(1);
        all.wake.wait(lock, [&] { return all.opened.load() != seen; });
        all.sleeping.fetch_sub(1);
      }
      seen = all.opened.load();
      help(all, thread);
    }
  }

  std::unique_ptr<crew> crew_;
};

}  // namespace glia
