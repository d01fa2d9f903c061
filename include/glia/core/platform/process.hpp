#pragma once

#if defined(_WIN32)
#include "glia/core/platform/windows_api.hpp"
#elif !defined(__wasm__)
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX's
#include <unistd.h>

#include <cerrno>
#endif

#include <atomic>
#include <cstdint>

namespace glia::platform {

#if !defined(_WIN32) && !defined(__wasm__)
inline std::atomic<std::uint32_t> forks{0};
inline const int counting_forks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
#endif

/// Returns the number of calls of `fork` that led to this process. A child process has only the
/// thread that forked it, so threads and locks created under a smaller number may not exist or may
/// never be released.
[[nodiscard]] inline std::uint32_t fork_count() noexcept {
#if defined(_WIN32) || defined(__wasm__)
  return 0;
#else
  return forks.load(std::memory_order_relaxed);
#endif
}

/// Returns the system's number of this process.
[[nodiscard]] inline int process_id() noexcept {
#if defined(_WIN32)
  return static_cast<int>(GetCurrentProcessId());
#elif defined(__wasm__)
  return 1;
#else
  return static_cast<int>(::getpid());
#endif
}

/// Whether a process of this number exists, as far as the system says.
[[nodiscard]] inline bool process_exists(int process) noexcept {
#if defined(_WIN32)
  const HANDLE found = OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(process));
  if (found == nullptr) {
    return GetLastError() != ERROR_INVALID_PARAMETER;
  }
  const bool running = WaitForSingleObject(found, 0) == WAIT_TIMEOUT;
  CloseHandle(found);
  return running;
#elif defined(__wasm__)
  return process == process_id();
#else
  return ::kill(process, 0) == 0 || errno != ESRCH;
#endif
}

}  // namespace glia::platform
