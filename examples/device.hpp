#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <glia/glia.hpp>
#include <string>
#include <utility>
#include <vector>

#ifdef GLIA_WITH_DEVICES
#include <glia/pjrt.hpp>
#endif

/// Where an example runs.
struct device_choice {
  std::string name = "cpu";                ///< cpu, or pjrt: and the path of a plugin
  std::size_t threads = 0;                 ///< of the cpu; 0: one per core
  std::size_t devices = 1;                 ///< of the plugin; 0: all that it finds
  std::vector<std::string> settings = {};  ///< of the plugin: preallocate=false
  bool full_precision = false;             ///< in products, where the device has a faster way
  std::string products = "full";           ///< of the cpu; the others round their factors

  /// The same as arguments of a program that this one starts.
  [[nodiscard]] std::vector<std::string> arguments() const {
    std::vector<std::string> result{"--device", name, "--threads", std::to_string(threads)};
    if (full_precision) {
      result.emplace_back("--full-precision");
    }
    if (products != "full") {
      result.insert(result.end(), {"--products", products});
    }
    for (const std::string& setting : settings) {
      result.insert(result.end(), {"--plugin-setting", setting});
    }
    return result;
  }
};

inline constexpr const char* plugin_prefix = "pjrt:";

#ifdef GLIA_WITH_DEVICES

/// Whole numbers and true and false are what they look like, all else is text.
[[nodiscard]] inline glia::pjrt_setting setting_of(const std::string& assignment) {
  const std::size_t separator = assignment.find('=');
  const std::string value = assignment.substr(separator + 1);
  glia::pjrt_setting result{assignment.substr(0, separator), value};
  const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (value == "true" || value == "false") {
    result.value = value == "true";
  } else if (number) {
    result.value = std::int64_t{std::stoll(value)};
  }
  return result;
}

#endif

inline void add_device_options(CLI::App& app, device_choice& choice) {
  const auto is_device = [](const std::string& name) {
    const bool plugin = name.starts_with(plugin_prefix) && name.size() > 5;
    return name == "cpu" || plugin ? std::string()
                                   : "expected cpu, or pjrt: and the path of a plugin, got " + name;
  };
  const auto is_setting = [](const std::string& assignment) {
    return assignment.find('=') < assignment.size() ? std::string()
                                                    : "expected NAME=VALUE, got " + assignment;
  };
  app.add_option("--device", choice.name,
                 "cpu, or pjrt:PATH, the plugin of a GPU or TPU (docs/how_to/devices.md)")
      ->check(CLI::Validator(is_device, ""));
  app.add_option("--plugin-setting", choice.settings, "NAME=VALUE that the plugin understands")
      ->check(CLI::Validator(is_setting, ""));
  app.add_flag("--full-precision", choice.full_precision,
               "multiply in full where the device has a faster way, as bfloat16 on TPUs");
  app.add_option("--threads", choice.threads, "of the cpu; 0: one per core");
  app.add_option(
         "--products", choice.products,
         "of the cpu: full, or bfloat16 or bfloat16_tiles, in which some processors multiply "
         "faster (docs/how_to/devices.md)")
      ->check(CLI::IsMember({"full", "bfloat16", "bfloat16_tiles"}));
}

/// The device that was chosen.
[[nodiscard]] inline glia::device make_device(const device_choice& choice) {
  if (!choice.name.starts_with(plugin_prefix)) {
    glia::cpu_products products;
    if (choice.products == "bfloat16") {
      products = glia::bfloat16;
    } else if (choice.products == "bfloat16_tiles") {
      products = glia::bfloat16_tiles;
    }
    return glia::cpu({.threads = choice.threads, .products = products});
  }
#ifdef GLIA_WITH_DEVICES
  glia::pjrt_options options{.plugin = choice.name.substr(std::string(plugin_prefix).size()),
                             .devices = choice.devices,
                             .precision = choice.full_precision ? glia::product_precision::full
                                                                : glia::product_precision::fast};
  for (const std::string& setting : choice.settings) {
    options.settings.push_back(setting_of(setting));
  }
  return glia::pjrt(options);
#else
  throw glia::value_error("--device " + choice.name +
                          ": this program was built for CPUs alone; examples/run builds it for "
                          "other devices, and so does CMake with -DGLIA_EXAMPLE_DEVICES=ON");
#endif
}
