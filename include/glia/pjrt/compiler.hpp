#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "glia/backends/compilations.hpp"
#include "glia/core/error.hpp"
#include "glia/core/platform/machine.hpp"
#include "glia/pjrt/client.hpp"
#include "glia/pjrt/executable.hpp"
#include "glia/pjrt/program_cache.hpp"

namespace glia::detail {

/// Returns a text with everything that a compiled graph depends on in addition to its module: the
/// plugin and its settings, the devices, and the version of this format.
[[nodiscard]] inline std::string compiler_identity(const pjrt_client& client,
                                                   std::span<const pjrt_setting> settings) {
  std::string description;
  for (const pjrt_setting& setting : settings) {
    std::visit([&](const auto& value) { description += text(setting.name, '=', value, '\n'); },
               setting.value);
  }
  for (const char* const variable : {"XLA_FLAGS", "LIBTPU_INIT_ARGS"}) {
    const char* const value = std::getenv(variable);
    description += text(variable, '=', value == nullptr ? "" : value, '\n');
  }
  std::string processor;
  if (client.platform() == "cpu") {  // compiled for exactly this processor and number of cores
    processor = text(std::thread::hardware_concurrency(), " cores, ",
                     platform::processor_entry("flags"), platform::processor_entry("Features"));
  }
  std::error_code unknown;
  const std::filesystem::path& plugin = client.plugin().file();
  const auto changed = std::filesystem::last_write_time(plugin, unknown);
  const auto& version = client.api().version;
  return text("glia program 1\n", client.platform(), ' ', client.platform_version(), ' ',
              client.device_kind(), " x", client.devices().size(), "\nplugin ",
              version.major_version, '.', version.minor_version, ", ",
              std::filesystem::file_size(plugin, unknown), " bytes of ",
              static_cast<std::int64_t>(changed.time_since_epoch().count()), '\n', processor, '\n',
              description);
}

/// Compiles modules. Each is compiled only once, and not at all if an earlier run stored the
/// result.
class pjrt_compiler {
 public:
  pjrt_compiler(std::shared_ptr<const pjrt_client> client, const pjrt_options& options)
      : client_(std::move(client)),
        cache_(options.cache),
        identity_(compiler_identity(*client_, options.settings)) {}

  /// Returns the compiled module, which has `results` results. `cached` stores it on disk for later
  /// runs.
  [[nodiscard]] std::shared_ptr<const pjrt_executable> program(const std::string& module,
                                                               std::size_t results, bool cached) {
    if (auto known = find(module)) {
      return known;
    }
    // The lock is not held during the compilation, so that other threads can find and run their
    // modules.
    const auto start = std::chrono::steady_clock::now();
    bool loaded = false;
    auto result = cached ? load_or_compile(module, results, loaded)
                         : pjrt_executable::compile(client_, module, results);
    const std::lock_guard guard(lock_);
    ++(loaded ? count_.loaded : count_.compiled);
    count_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    programs_.push_front({module, result});
    if (programs_.size() > max_programs) {
      programs_.pop_back();
    }
    return result;
  }

  [[nodiscard]] compilations count() const {
    const std::lock_guard guard(lock_);
    return count_;
  }

 private:
  // Largest number of modules in memory. Each kernel outside of graphs has its own module.
  static constexpr std::size_t max_programs = 256;

  struct known_program {
    std::string module;
    std::shared_ptr<const pjrt_executable> program;
  };

  [[nodiscard]] std::shared_ptr<const pjrt_executable> find(const std::string& module) {
    const std::lock_guard guard(lock_);
    for (auto known = programs_.begin(); known != programs_.end(); ++known) {
      if (known->module == module) {
        programs_.splice(programs_.begin(), programs_, known);
        return known->program;
      }
    }
    return nullptr;
  }
  [[nodiscard]] std::shared_ptr<const pjrt_executable> load_or_compile(const std::string& module,
                                                                       std::size_t results,
                                                                       bool& loaded) const {
    const std::string key = identity_ + module;
    if (const std::optional<std::string> bytes = cache_.find(key)) {
      try {
        auto result = pjrt_executable::load(client_, *bytes, results);
        loaded = true;
        return result;
      } catch (const device_error&) {  // then compile it again
      }
    }
    auto result = pjrt_executable::compile(client_, module, results);
    try {
      cache_.keep(key, result->serialized());
    } catch (const device_error&) {  // the plugin cannot serialize it
    }
    return result;
  }

  std::shared_ptr<const pjrt_client> client_;
  program_cache cache_;
  std::string identity_;
  mutable std::mutex lock_;
  std::list<known_program> programs_;  // most recently used first
  compilations count_;
};

}  // namespace glia::detail
