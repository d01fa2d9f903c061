#pragma once

#include <cstddef>

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif

namespace glia {

/// The most memory that this process has had resident so far, in bytes; 0 where the system does not
/// tell.
[[nodiscard]] inline std::size_t peak_resident_bytes() noexcept {
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
