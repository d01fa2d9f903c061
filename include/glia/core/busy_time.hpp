#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace glia::detail {

/// Returns the time of a monotonic clock in nanoseconds.
[[nodiscard]] inline std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// An interval, in nanoseconds, during which a thread worked on a part of a loop.
struct busy_time {
  std::thread::id thread;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A log of the times during which threads were busy. Loops add to the log while `watched()` is
/// true. Safe to use from several threads.
class busy_log {
 public:
  [[nodiscard]] bool watched() const noexcept { return watched_.load(std::memory_order_relaxed); }
  void watch(bool enabled) {
    const std::lock_guard guard(lock_);
    watched_ = enabled;
    times_.clear();
  }
  void add(const busy_time& interval) {
    const std::lock_guard guard(lock_);
    if (watched_) {
      times_.push_back(interval);
    }
  }
  /// Returns the times that were logged since the last call.
  [[nodiscard]] std::vector<busy_time> take() {
    const std::lock_guard guard(lock_);
    return std::exchange(times_, {});
  }

 private:
  std::atomic<bool> watched_{false};
  std::mutex lock_;
  std::vector<busy_time> times_;
};

}  // namespace glia::detail
