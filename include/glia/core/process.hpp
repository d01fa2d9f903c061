#pragma once

#include <atomic>
#include <cstdint>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

namespace glia {

namespace detail {

inline std::atomic<std::uint32_t> forks{0};
#if __has_include(<pthread.h>)
inline const int counting_forks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
#endif

}  // namespace detail

/// How often `fork` has led to this process. A child has only the thread that forked it: what was
/// made under another number may have threads, or locks held by threads, that do not exist here.
[[nodiscard]] inline std::uint32_t process_number() noexcept {
  return detail::forks.load(std::memory_order_relaxed);
}

}  // namespace glia
