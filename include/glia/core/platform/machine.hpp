#pragma once

#if defined(_WIN32)
#include "glia/core/platform/windows_api.hpp"
#elif !defined(__wasm__)
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#include <sys/sysctl.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#endif

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace glia::platform {

/// Returns the first entry of Linux's /proc/cpuinfo whose name begins with `name`, or an empty
/// string.
[[nodiscard]] inline std::string processor_entry(std::string_view name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t separator = line.find(": ");
    if (line.starts_with(name) && separator != std::string::npos) {
      return line.substr(separator + 2);
    }
  }
  return {};
}

/// Returns the system's name of the processor, or of its architecture if it has none.
[[nodiscard]] inline std::string processor_name() {
#if defined(_WIN32)
  std::array<char, 256> name{};
  auto size = static_cast<DWORD>(name.size() - 1);
  if (RegGetValueA(HKEY_LOCAL_MACHINE, R"(HARDWARE\DESCRIPTION\System\CentralProcessor\0)",
                   "ProcessorNameString", RRF_RT_REG_SZ, nullptr, name.data(),
                   &size) == ERROR_SUCCESS) {
    return name.data();
  }
  const char* const architecture = std::getenv("PROCESSOR_ARCHITECTURE");
  return architecture == nullptr ? "unknown" : architecture;
#elif defined(__wasm__)
  return "WebAssembly";
#else
#if defined(__APPLE__)
  std::array<char, 256> name{};
  std::size_t size = name.size() - 1;
  if (::sysctlbyname("machdep.cpu.brand_string", name.data(), &size, nullptr, 0) == 0) {
    return name.data();
  }
#endif
  if (std::string name = processor_entry("model name"); !name.empty()) {
    return name;
  }
  struct utsname system {};
  return ::uname(&system) == 0 ? system.machine : "unknown";
#endif
}

/// Returns the name of this machine in its network; empty if it has none.
[[nodiscard]] inline std::string host_name() {
  std::array<char, 256> name{};
#if defined(_WIN32)
  auto size = static_cast<DWORD>(name.size());
  GetComputerNameA(name.data(), &size);
#elif !defined(__wasm__)
  ::gethostname(name.data(), name.size() - 1);
#endif
  return name.data();
}

/// Processor cores, by their numbers.
using core_set = std::bitset<1024>;

/// Returns the cores on which this process may run.
[[nodiscard]] inline core_set allowed_cores() {
  core_set result;
#if defined(__linux__)
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    for (std::size_t i = 0; i < std::min<std::size_t>(result.size(), CPU_SETSIZE); ++i) {
      result[i] = CPU_ISSET(i, &cores);
    }
    return result;
  }
#endif
  const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(count, result.size()); ++i) {
    result[i] = true;
  }
  return result;
}

/// Returns the path of the running program; empty if the system does not say.
[[nodiscard]] inline std::filesystem::path program_path() {
#if defined(_WIN32)
  return windows::module_path(nullptr);
#elif defined(__APPLE__)
  std::string path(4096, '\0');
  auto size = static_cast<std::uint32_t>(path.size());
  return ::_NSGetExecutablePath(path.data(), &size) == 0 ? path.c_str() : "";
#elif defined(__wasm__)
  return {};
#else
  return "/proc/self/exe";
#endif
}

}  // namespace glia::platform
