#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "glia/pjrt/program_cache.hpp"

namespace glia {

/// The precision of matrix products and convolutions on devices with faster formats than the
/// tensors' type. `fast` uses bfloat16 on TPUs and TF32 on recent GPUs. `full` keeps the precision
/// of the tensors' type, as on other devices; a product then takes several passes.
enum class product_precision : std::uint8_t { fast, full };

/// A setting of the plugin. Its name is defined by the plugin: {"preallocate", false}.
struct pjrt_setting {
  std::string name;
  std::variant<bool, std::int64_t, float, std::string> value;
};

/// Options of the `pjrt` device.
struct pjrt_options {
  std::filesystem::path plugin;  ///< Path of the shared library that drives the devices.
  /// Number of devices to use, from the first one that the plugin finds; 0: all. The samples of a
  /// batch are split among the devices.
  std::size_t devices = 1;
  product_precision precision = product_precision::fast;
  std::vector<pjrt_setting> settings = {};  ///< Settings passed to the plugin when it starts.
  program_cache_options cache = {};         ///< Folder and limits of stored compiled graphs.
};

}  // namespace glia
