#pragma once

#include <glia/pjrt/options.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace test {

/// Where tests/pjrt/setup has put the packages of plugins.
inline std::vector<std::filesystem::path> pjrt_packages() {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code ignored;
  const fs::path lib = fs::path(__FILE__).parent_path() / "../../build/pjrt/lib";
  for (const auto& python : fs::directory_iterator(lib, ignored)) {
    found.push_back(python.path() / "site-packages");
  }
  return found;
}

/// The plugins that tests run on: $GLIA_PJRT_PLUGIN, or else what tests/pjrt/setup got.
inline std::vector<std::string> pjrt_plugins() {
  if (const char* const chosen = std::getenv("GLIA_PJRT_PLUGIN")) {
    return {chosen};
  }
  std::vector<std::string> found;
  for (const std::filesystem::path& packages : pjrt_packages()) {
    for (const char* const name : {"xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
                                   "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"}) {
      if (std::filesystem::exists(packages / name)) {
        found.push_back((packages / name).string());
      }
    }
  }
  return found;
}

/// The one for NVIDIA's GPUs, or nothing.
inline std::string cuda_plugin() {
  for (const std::filesystem::path& packages : pjrt_packages()) {
    const auto plugin = packages / "jax_plugins/xla_cuda13/xla_cuda_plugin.so";
    if (std::filesystem::exists(plugin)) {
      return plugin.string();
    }
  }
  return "";
}

/// What it has to know of an H200 to compile for one.
inline std::vector<glia::pjrt_setting> h200_settings() {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() /
                     "../../examples/tools/glia-compile/h200.pbtxt");
  return {{"target_config", std::string{std::istreambuf_iterator<char>(file), {}}},
          {"topology", std::string("1x1x1")}};
}

/// A device whose programs are kept nowhere, and whose products are as exact as those of `cpu`.
[[nodiscard]] inline glia::pjrt_options without_cache(const std::filesystem::path& plugin) {
  return {.plugin = plugin, .precision = glia::product_precision::full, .cache = {.folder = {}}};
}

inline constexpr const char* no_pjrt_plugin = "no PJRT plugin; run tests/pjrt/setup";

}  // namespace test
