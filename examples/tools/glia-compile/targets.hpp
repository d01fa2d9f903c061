#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/glia.hpp>
#include <glia/pjrt/target.hpp>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

/// A device to compile for, and what it has.
struct target {
  glia::pjrt_target_options options;
  std::string name;
  std::optional<double> memory_bytes;  ///< of each device
};

/// What a core of a TPU has, by its generation (cloud.google.com/tpu/docs/system-architecture).
[[nodiscard]] inline std::optional<double> tpu_memory(std::string_view topology) {
  constexpr double gigabyte = 0x1p30;
  struct generation {
    std::string_view name;
    double gigabytes;
  };
  for (const auto& [name, gigabytes] :
       {generation{"v2:", 8}, generation{"v3:", 16}, generation{"v4:", 32}, generation{"v5e:", 16},
        generation{"v5p:", 95}, generation{"v6e:", 32}}) {
    if (topology.starts_with(name)) {
      return gigabytes * gigabyte;
    }
  }
  return std::nullopt;
}

/// The number behind "name:" in a text.
[[nodiscard]] inline std::optional<double> figure_in(const std::string& text,
                                                     const std::string& name) {
  const std::size_t position = text.find(name + ": ");
  return position == std::string::npos
             ? std::nullopt
             : std::optional(std::stod(text.substr(position + name.size() + 2)));
}

/// A TPU's topology by its name, as v2:2x2, or a GPU by a file with its figures, as h200.pbtxt.
[[nodiscard]] inline target target_of(const std::filesystem::path& plugin, const std::string& name,
                                      std::size_t devices) {
  target result{
      .options = {.plugin = plugin, .devices = devices}, .name = name, .memory_bytes = {}};
  if (name.ends_with(".pbtxt")) {
    std::ifstream file(name);
    const std::string figures{std::istreambuf_iterator<char>(file), {}};
    glia::require<glia::data_error>(!figures.empty(), name,
                                    ": cannot be read; expected a GPU's figures, as h200.pbtxt");
    result.options.settings = {{"target_config", figures},
                               {"topology", glia::text("1x1x", devices)}};
    result.memory_bytes = figure_in(figures, "device_memory_size");
  } else {
    result.options.topology = name;
    result.memory_bytes = tpu_memory(name);
  }
  return result;
}
