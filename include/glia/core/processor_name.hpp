#pragma once

#include <sys/utsname.h>

#include <fstream>
#include <string>

namespace glia {

/// Returns the system's name of the processor, such as "Intel(R) Xeon(R) CPU @ 2.20GHz". If the
/// system has no name, returns the architecture, such as "aarch64".
[[nodiscard]] inline std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t separator = line.find(": ");
    if (line.starts_with("model name") && separator != std::string::npos) {
      return line.substr(separator + 2);
    }
  }
  struct utsname system {};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace glia
