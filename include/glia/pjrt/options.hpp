#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "glia/pjrt/program_cache.hpp"

namespace glia {

/// How products of numbers are computed on devices that have faster ways than their type's: fast,
/// which is bfloat16 on TPUs and TF32 on recent GPUs, or full, as on other devices, which takes
/// several passes there.
enum class product_precision : std::uint8_t { fast, full };

/// Something that a plugin understands, by its own name: {"preallocate", false}.
struct pjrt_setting {
  std::string name;
  std::variant<bool, std::int64_t, float, std::string> value;
};

struct pjrt_options {
  std::filesystem::path plugin;  ///< the shared library that drives the devices
  /// Of those that the plugin finds, the first ones, among which the samples of a batch are split;
  /// 0: all of them.
  std::size_t devices = 1;
  product_precision precision = product_precision::fast;
  std::vector<pjrt_setting> settings = {};  ///< what the plugin is told as it starts
  program_cache_options cache = {};         ///< where compiled programs are kept from run to run
};

}  // namespace glia
