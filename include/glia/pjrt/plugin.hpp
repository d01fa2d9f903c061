#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "glia/core/error.hpp"
#include "glia/core/platform/shared_library.hpp"
#include "glia/pjrt/c_api.hpp"

namespace glia::detail {

/// An error that a plugin reports, with its code.
struct pjrt_error : device_error {
  pjrt_error(const std::string& words, pjrt_api::error_code reason)
      : device_error(words), code(reason) {}
  pjrt_api::error_code code;
};

/// Returns advice about an error, or an empty text. `operation` is the failed operation, such as
/// "run a compiled graph".
[[nodiscard]] inline const char* advice_for(pjrt_api::error_code code,
                                            std::string_view operation) noexcept {
  const bool uses_it = operation.starts_with("run ") || operation.starts_with("compute ") ||
                       operation.starts_with("copy ") || operation.starts_with("compile ");
  switch (code) {
    case pjrt_api::error_code::resource_exhausted:
      return uses_it ? "; use a smaller batch or model, or a device with more memory"
                     : "; check whether another program uses the device; docs/how_to/devices.md "
                       "says how "
                       "to leave "
                       "memory for others";
    case pjrt_api::error_code::unavailable:
    case pjrt_api::error_code::aborted:
    case pjrt_api::error_code::data_loss:
      return uses_it ? "; the device was lost: resume from the last checkpoint, on another device"
                     : "; check whether another program uses the device";
    default:
      return "";
  }
}

/// A PJRT plugin: the shared library that drives one kind of device. It stays loaded until the
/// program ends, because its threads keep running. Copies refer to the same library.
class pjrt_plugin {
 public:
  /// Loads the plugin at `path`. Throws `device_error` if the file cannot be loaded, is not a PJRT
  /// plugin, or has an unsupported version.
  explicit pjrt_plugin(const std::filesystem::path& path) : path_(path.string()) {
    require<device_error>(
        !path_.empty(),
        "pjrt: the path of the plugin is empty; docs/how_to/devices.md says how to get a plugin");
    std::string reason;
    void* const library = platform::load_library(path, reason);
    require<device_error>(library != nullptr, "pjrt: ", path_, ": cannot be loaded (", reason,
                          "); docs/how_to/devices.md says how to get a plugin");
    const auto get = platform::function_in<pjrt_api::get_api>(library, pjrt_api::symbol);
    require<device_error>(get != nullptr, "pjrt: ", path_,
                          ": is not a PJRT plugin, because it has no symbol ", pjrt_api::symbol);
    file_ = platform::library_file(get);
    api_ = get();
    require<device_error>(api_ != nullptr, "pjrt: ", path_, ": returns no table of functions");
    const auto& version = api_->version;
    // Within a major version, entry points are only added at the end of the table.
    const bool complete = api_->struct_size >= sizeof(pjrt_api::api);
    require<device_error>(version.major_version == pjrt_api::major_version && complete,
                          "pjrt: ", path_, ": has version ", version.major_version, '.',
                          version.minor_version, " of PJRT's C API; expected ",
                          pjrt_api::major_version, '.', pjrt_api::minor_version,
                          " or a similar version; get a plugin from about the same date");
    pjrt_api::plugin_initialize_args args;
    call(api_->plugin_initialize, args, "be initialized");
  }

  [[nodiscard]] const pjrt_api::api& api() const noexcept { return *api_; }
  /// Returns the path that was given.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Returns the path of the library that was loaded.
  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

  /// Calls an entry point. Throws `pjrt_error` with the plugin's message: "pjrt: <path>: cannot
  /// <operation>: <message>".
  template <class Args>
  void call(pjrt_api::entry<Args> function, Args& args, std::string_view operation) const {
    pjrt_api::error* const failure = function(&args);
    if (failure != nullptr) {
      fail(failure, operation);
    }
  }
  /// Calls an entry point and ignores errors, for destructors.
  template <class Args>
  void call_quietly(pjrt_api::entry<Args> function, Args& args) const noexcept {
    pjrt_api::error* const failure = function(&args);
    if (failure != nullptr) {
      destroy(failure);
    }
  }

 private:
  [[noreturn]] void fail(pjrt_api::error* failure, std::string_view operation) const {
    pjrt_api::error_message_args message;
    message.error = failure;
    api_->error_message(&message);
    const std::string words(message.message, message.message_size);
    pjrt_api::error_get_code_args code;
    code.error = failure;
    call_quietly(api_->error_get_code, code);
    destroy(failure);
    throw pjrt_error(text("pjrt: ", path_, ": cannot ", operation, ": ", words,
                          advice_for(code.code, operation)),
                     code.code);
  }
  void destroy(pjrt_api::error* failure) const noexcept {
    pjrt_api::error_destroy_args args;
    args.error = failure;
    api_->error_destroy(&args);
  }

  std::string path_;
  std::filesystem::path file_;
  const pjrt_api::api* api_ = nullptr;
};

}  // namespace glia::detail
