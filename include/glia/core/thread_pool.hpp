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
#include "glia/core/platform/process.hpp"
#include "glia/core/spin_lock.hpp"

namespace glia {

/// Runs loops on a fixed set of threads, which includes the calling thread.
///
/// Each thread begins with a part of the indices, and when it has finished, takes indices of other
/// parts. Loops over the same data therefore use the same data on the same core, if all threads are
/// equally fast. If callers divide their work into blocks whose borders do not depend on the number
/// of threads, the results do not depend on this number either. A loop body must not throw, and a
/// loop has at most 2^32 - 2 indices.
///
/// Any number of threads may call at the same time. A single caller gets all threads, several
/// callers share them, and a caller for which no thread is left runs its loop alone. In a child
/// process made by `fork`, the pool's threads do not exist, so every caller runs its loops alone.
class thread_pool {
 public:
  static constexpr std::size_t max_threads = 1024;

  /// Starts the threads. `threads` is their number with the caller; 0 means one for each core.
  /// Throws `value_error` for more than max_threads threads, and if the system cannot start this
  /// number of threads.
  explicit thread_pool(std::size_t threads = 0) : crew_(std::make_unique<crew>()) {
    if (threads == 0) {
      threads = default_threads();
    }
    require<value_error>(threads <= max_threads, "thread_pool: expected at most ", max_threads,
                         " threads, got ", threads, "; more than one per core only costs time");
    // A loop of a caller has two threads or more.
    crew_->loops = std::vector<loop>(threads / 2);
    for (loop& job : crew_->loops) {
      job.parts = std::vector<part>(std::min(threads, max_parts));
    }
    crew_->size = threads;
    crew_->threads.reserve(threads - 1);
    try {
      for (std::size_t i = 1; i < threads; ++i) {
        crew_->threads.emplace_back([state = crew_.get(), i] { work(*state, i); });
      }
    } catch (const std::system_error& failure) {
      const std::size_t started = crew_->threads.size() + 1;
      crew_->stop();
      throw value_error(text("thread_pool: expected ", threads,
                             " threads, but the system started only ", started, " (",
                             failure.what(), "); use fewer threads"));
    }
  }

  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  ~thread_pool() {
    if (forked()) {
      // After a fork, the threads cannot be joined and the objects they wait for cannot be
      // destroyed.
      static_cast<void>(crew_.release());
    } else {
      crew_->stop();
    }
  }

  /// Returns the number of threads of a pool that is not given one: one for each core.
  [[nodiscard]] static std::size_t default_threads() noexcept {
    return std::max(1U, std::thread::hardware_concurrency());
  }

  [[nodiscard]] std::size_t size() const noexcept { return crew_->size; }

  /// Calls body(i, thread) once for each i = 0, ..., count - 1, and returns when all calls are
  /// done. `thread` is below size(). Two calls with the same `thread` never overlap within a loop,
  /// so it can select scratch memory. Results must not depend on `thread`.
  template <class Body>
  void parallel_for(std::size_t count, const Body& body) {
    run(
        count,
        [](const void* context, std::size_t i, std::size_t thread) {
          (*static_cast<const Body*>(context))(i, thread);
        },
        &body);
  }

 private:
  using function = void (*)(const void*, std::size_t, std::size_t);

  // Calls the body by its address alone, so that a program contains it once.
  void run(std::size_t count, function body, const void* context) {
    if (count > 1 && size() > 1 && !forked() && crew_->share_out(count, body, context)) {
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      body(context, i, 0);
    }
  }

  // A training step has about twenty short loops. Waking a worker that sleeps between them would
  // take longer than a loop does. About 50 microseconds of spinning bridge most gaps.
  static constexpr int spins_before_sleep = 2000;
  // If the last index of a loop was taken by a worker that waits for a core, the caller must
  // release its own core.
  static constexpr int spins_before_yield = 4000;

  static constexpr std::size_t max_parts = 64;
  // Tickets are compared by the difference of their loops' numbers. Parts that stay unused get a
  // new ticket before the difference overflows.
  static constexpr std::uint32_t tickets_renewed = 0xFFFF;

  /// Consecutive indices of a loop. One thread begins with them; threads that have finished their
  /// own take from the others'. A thread takes an index by advancing the whole ticket: the number
  /// of the loop (high half) and the next index (low half). A late thread of a finished loop
  /// therefore cannot take an index of the next one, and nobody has to wait for it.
  struct alignas(64) part {
    std::atomic<std::uint64_t> ticket{0};

    [[nodiscard]] static std::uint64_t ticket_of(std::uint32_t loop_number, std::size_t index) {
      return std::uint64_t{loop_number} << 32 | index;
    }

    /// Calls body(i) for the indices from `begin` to `end` that no thread has taken yet, and
    /// returns their number. If the ticket is of an earlier loop, no index has been taken.
    template <class Body>
    std::size_t take(std::uint32_t loop_number, std::size_t begin, std::size_t end,
                     const Body& body) {
      std::size_t calls = 0;
      std::uint64_t known = ticket.load(std::memory_order_acquire);
      for (;;) {
        const auto number = static_cast<std::uint32_t>(known >> 32);
        if (static_cast<std::int32_t>(loop_number - number) < 0) {
          return calls;  // the ticket is of a later loop, so this one is done
        }
        const auto index =
            number == loop_number ? static_cast<std::size_t>(known & 0xFFFFFFFF) : begin;
        if (index >= end) {
          return calls;
        }
        if (ticket.compare_exchange_weak(known, ticket_of(loop_number, index + 1),
                                         std::memory_order_acq_rel, std::memory_order_acquire)) {
          body(index);
          ++calls;
          known = ticket_of(loop_number, index + 1);  // unless another thread took the next one
        }
      }
    }
  };

  /// The loop of one caller. It can be reused as soon as it is done.
  struct alignas(64) loop {
    // RISC-V cannot exchange the byte of an atomic<bool> without a library.
    std::atomic_flag busy{};
    std::atomic<std::uint32_t> number{0};  // odd while the caller writes the fields below
    std::atomic<function> call{nullptr};
    std::atomic<const void*> context{nullptr};
    std::atomic<std::size_t> count{0};
    std::atomic<std::ptrdiff_t> helpers{0};  // number of threads that may still join the caller
    std::vector<part> parts;
    alignas(64) std::atomic<std::size_t> done{0};  // number of indices, without the caller's own

    void open(std::size_t n, function body, const void* argument, std::ptrdiff_t places) {
      // The number changes first: a late thread that sees a new field must see an odd number.
      const std::uint32_t closed = number.load(std::memory_order_relaxed) + 1;
      number.store(closed, std::memory_order_relaxed);
      call.store(body, std::memory_order_release);
      context.store(argument, std::memory_order_release);
      count.store(n, std::memory_order_release);
      done.store(0, std::memory_order_relaxed);
      if ((closed & tickets_renewed) == 1) {
        for (part& p : parts) {
          p.ticket.store(part::ticket_of(closed, 0), std::memory_order_relaxed);
        }
      }
      number.store(closed + 1, std::memory_order_release);
      helpers.store(places, std::memory_order_release);
    }

    /// Calls the body until no index is left, and returns the number of calls.
    std::size_t take_indices(std::size_t thread) {
      const std::uint32_t current = number.load(std::memory_order_acquire);
      const std::size_t n = count.load(std::memory_order_acquire);
      const function body = call.load(std::memory_order_acquire);
      const void* argument = context.load(std::memory_order_acquire);
      if (current % 2 == 1 || number.load(std::memory_order_acquire) != current) {
        return 0;  // the fields are those of two loops
      }
      // The first `longer` parts have one index more.
      const std::size_t used = std::min(n, parts.size());
      const std::size_t length = n / std::max<std::size_t>(used, 1);
      const std::size_t longer = n - length * used;
      std::size_t calls = 0;
      for (std::size_t i = 0, p = thread; i < used; ++i, ++p) {
        p = p < used ? p : p % used;
        const std::size_t begin = p * length + std::min(p, longer);
        calls += parts[p].take(current, begin, begin + length + (p < longer ? 1 : 0),
                               [&](std::size_t index) { body(argument, index, thread); });
      }
      return calls;
    }
  };

  /// The state that callers and workers share. Its address is fixed, and it is not used after a
  /// fork.
  struct crew {
    std::size_t size = 1;  // number of threads, with a caller
    std::vector<loop> loops;
    std::vector<std::thread> threads;
    std::atomic<std::size_t> callers{0};
    std::atomic<std::uint64_t> opened{0};  // number of loops so far
    std::atomic<std::size_t> sleeping{0};
    std::atomic<bool> stopping{false};
    std::mutex mutex;
    std::condition_variable wake;
    std::uint32_t process = platform::fork_count();

    /// Runs a loop on several threads. Returns false, without running it, if the caller has to run
    /// it alone.
    bool share_out(std::size_t count, function body, const void* context) {
      const caller_count caller(callers);
      // The number of threads for this loop.
      const std::size_t share = size / caller.total;
      loop* mine = share > 1 ? free_loop() : nullptr;
      if (mine == nullptr) {
        return false;
      }
      mine->open(count, body, context, static_cast<std::ptrdiff_t>(share) - 1);
      announce();
      const std::size_t remaining = count - mine->take_indices(0);
      for (int spins = 0; mine->done.load(std::memory_order_acquire) != remaining; ++spins) {
        spins < spins_before_yield ? detail::spin_pause() : std::this_thread::yield();
      }
      mine->busy.clear(std::memory_order_release);
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
          : count(callers), total(callers.fetch_add(1, std::memory_order_relaxed) + 1) {}
      caller_count(const caller_count&) = delete;
      caller_count& operator=(const caller_count&) = delete;
      ~caller_count() { count.fetch_sub(1, std::memory_order_relaxed); }
      std::atomic<std::size_t>& count;
      std::size_t total;
    };

    loop* free_loop() {
      for (loop& job : loops) {
        if (!job.busy.test(std::memory_order_relaxed) &&
            !job.busy.test_and_set(std::memory_order_acquire)) {
          return &job;
        }
      }
      return nullptr;
    }
  };

  [[nodiscard]] bool forked() const noexcept { return crew_->process != platform::fork_count(); }

  static void help(crew& state, std::size_t thread) {
    for (loop& job : state.loops) {
      if (job.helpers.load(std::memory_order_relaxed) > 0 && job.helpers.fetch_sub(1) > 0) {
        if (const std::size_t calls = job.take_indices(thread); calls > 0) {
          job.done.fetch_add(calls, std::memory_order_release);
        }
      }
    }
  }

  static void work(crew& state, std::size_t thread) {
    std::uint64_t handled = 0;
    while (!state.stopping.load()) {
      for (int spin = 0; spin < spins_before_sleep && state.opened.load() == handled; ++spin) {
        detail::spin_pause();
      }
      if (state.opened.load() == handled) {
        std::unique_lock lock(state.mutex);
        state.sleeping.fetch_add(1);
        state.wake.wait(lock, [&] { return state.opened.load() != handled; });
        state.sleeping.fetch_sub(1);
      }
      handled = state.opened.load();
      help(state, thread);
    }
  }

  std::unique_ptr<crew> crew_;
};

}  // namespace glia
