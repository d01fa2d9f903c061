#pragma once

#include <ctime>

namespace glia::platform {

/// Converts a time to the time zone of this machine. Returns false if the system cannot.
[[nodiscard]] inline bool local_time(std::time_t time, std::tm& parts) {
#if defined(_WIN32)
  return localtime_s(&parts, &time) == 0;
#else
  return ::localtime_r(&time, &parts) != nullptr;
#endif
}

}  // namespace glia::platform
