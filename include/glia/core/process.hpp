#pragma once

#include <atomic>
#include <cstdint>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

namespace glia::detail {

inline std::atomic<std::uint32_t> forks{0};
#if __has_include(<pthread.h>)
inline const int counting_forks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
#endif

/// Returns the number of calls of `fork` that led to this process. A child process has only the
/// thread that forked it, so threads and locks created under a smaller number may not exist or may
/// never be released.
[[nodiscard]] inline std::uint32_t process_number() noexcept {
  return detail::forks.load(std::memory_order_relaxed);
}

}  // namespace glia::detail
