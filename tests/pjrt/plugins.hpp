#pragma once

#include <glia/pjrt/options.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace test {

/// The plugins that tests run on: $GLIA_PJRT_PLUGIN, or else what tests/pjrt/setup got.
inline std::vector<std::string> pjrt_plugins() {
  namespace fs = std::filesystem;
  if (const char* const chosen = std::getenv("GLIA_PJRT_PLUGIN")) {
    return {chosen};
  }
  std::vector<std::string> found;
  std::error_code none;
  const fs::path lib = fs::path(__FILE__).parent_path() / "../../build/pjrt/lib";
  for (const auto& python : fs::directory_iterator(lib, none)) {
    for (const char* const name : {"xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
                                   "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"}) {
      const fs::path plugin = python.path() / "site-packages" / name;
      if (fs::exists(plugin)) {
        found.push_back(plugin.string());
      }
    }
  }
  return found;
}

/// A device whose programs are kept nowhere.
[[nodiscard]] inline glia::pjrt_options without_cache(const std::filesystem::path& plugin) {
  return {.plugin = plugin, .cache = {.folder = {}}};
}

inline constexpr const char* no_pjrt_plugin = "no PJRT plugin; run tests/pjrt/setup";

}  // namespace test
