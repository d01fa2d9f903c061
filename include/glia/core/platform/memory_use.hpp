#pragma once

#if defined(_WIN32)
#include "glia/core/platform/windows_api.hpp"
// After the API's own header.
#include <psapi.h>
#elif !defined(__wasm__)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

namespace glia::platform {

/// Returns an entry of Linux's /proc/self/status in bytes, or 0 on other systems.
[[nodiscard]] inline std::size_t process_status(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (std::size_t kilobytes = 0; word == name && status >> kilobytes) {
      return kilobytes * 1024;
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

/// Returns the resident memory of this process in bytes, or 0 if it is not known, as on macOS.
[[nodiscard]] inline std::size_t resident_bytes() {
#if defined(_WIN32)
  PROCESS_MEMORY_COUNTERS counters{};
  return K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)) != 0
             ? counters.WorkingSetSize
             : 0;
#elif defined(__wasm__)
  return __builtin_wasm_memory_size(0) << 16U;
#else
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream pages("/proc/self/statm");
  return pages >> total >> resident ? resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))
                                    : 0;
#endif
}

/// Returns the peak resident memory of this process in bytes, or 0 if the system does not report
/// it.
[[nodiscard]] inline std::size_t peak_resident_bytes() {
#if defined(_WIN32)
  PROCESS_MEMORY_COUNTERS counters{};
  return K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)) != 0
             ? counters.PeakWorkingSetSize
             : 0;
#elif defined(__wasm__)
  return resident_bytes();  // this memory never shrinks
#else
  // On Linux, the peak of rusage includes the peak of the program that started this program, so
  // VmHWM is read first.
  if (const std::size_t peak = process_status("VmHWM:"); peak > 0) {
    return peak;
  }
#if defined(__APPLE__)
  constexpr std::size_t unit = 1;
#else
  constexpr std::size_t unit = 1024;
#endif
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::size_t>(usage.ru_maxrss) * unit
                                               : 0;
#endif
}

/// Returns the memory of the machine in bytes, or 0 if the system does not report it. It can be
/// larger than the memory that a program with pointers of 32 bits can use.
[[nodiscard]] inline std::uint64_t machine_bytes() {
#if defined(_WIN32)
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  return GlobalMemoryStatusEx(&status) != 0 ? status.ullTotalPhys : 0;
#elif defined(__wasm__)
  return 0;
#else
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<std::uint64_t>(pages) *
                         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                   : 0;
#endif
}

}  // namespace glia::platform
