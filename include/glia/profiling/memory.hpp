#pragma once

#include <cstddef>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace glia {

namespace detail {

/// Returns an entry of Linux's /proc/self/status in bytes, or 0 on other systems.
[[nodiscard]] inline std::size_t process_memory(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (std::size_t kilobytes = 0; word == name && status >> kilobytes) {
      return kilobytes * 1024;
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace detail

/// Returns the resident memory of this process in bytes, or 0 if the system does not report it.
[[nodiscard]] inline std::size_t resident_bytes() {
#if __has_include(<unistd.h>)
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream pages("/proc/self/statm");
  if (pages >> total >> resident) {
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }
#endif
  return 0;
}

/// Returns the peak resident memory of this process in bytes, or 0 if the system does not report
/// it.
[[nodiscard]] inline std::size_t peak_resident_bytes() {
  // On Linux, the peak of rusage includes the peak of the program that started this program, so
  // VmHWM is read first.
  if (const std::size_t peak = detail::process_memory("VmHWM:"); peak > 0) {
    return peak;
  }
#if __has_include(<sys/resource.h>)
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
#if defined(__APPLE__)
    return static_cast<std::size_t>(usage.ru_maxrss);
#else
    return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
#endif
  }
#endif
  return 0;
}

}  // namespace glia
