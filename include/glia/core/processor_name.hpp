#pragma once

#include <sys/utsname.h>

#include <fstream>
#include <string>

namespace glia {

/// What the system calls this machine's processor, as "Intel(R) Xeon(R) CPU @ 2.20GHz"; where it
/// has no name for it, the architecture, as "aarch64".
[[nodiscard]] inline std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(": ");
    if (line.starts_with("model name") && at != std::string::npos) {
      return line.substr(at + 2);
    }
  }
  struct utsname system {};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace glia
