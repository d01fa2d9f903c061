#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "glia/core/error.hpp"
#include "glia/pjrt/c_api.hpp"

namespace glia::detail {

/// What a plugin says has failed, with its code.
struct pjrt_error : device_error {
  pjrt_error(const std::string& words, pjrt_api::error_code why) : device_error(words), code(why) {}
  pjrt_api::error_code code;
};

/// What to do about an error in something that was asked for: "run a program".
[[nodiscard]] inline const char* advice_for(pjrt_api::error_code code,
                                            std::string_view what) noexcept {
  const bool uses_it = what.starts_with("run ") || what.starts_with("compute ") ||
                       what.starts_with("copy ") || what.starts_with("compile ");
  switch (code) {
    case pjrt_api::error_code::resource_exhausted:
      return uses_it ? "; use a smaller batch or model, or a device with more memory"
                     : "; is another program using the device? docs/devices.md says how to leave "
                       "memory to others";
    case pjrt_api::error_code::unavailable:
    case pjrt_api::error_code::aborted:
    case pjrt_api::error_code::data_loss:
      return uses_it ? "; the device is gone: begin again on another, from the last checkpoint"
                     : "; is another program using the device?";
    default:
      return "";
  }
}

/// A PJRT plugin: the shared library that drives one kind of device. It stays loaded until the
/// program ends, since its threads do; copies refer to the same one.
class pjrt_plugin {
 public:
  /// Throws `device_error` for a file that cannot be loaded, is no plugin, or one of a version that
  /// glia does not know.
  explicit pjrt_plugin(const std::filesystem::path& path) : path_(path.string()) {
    require<device_error>(!path_.empty(),
                          "pjrt: no plugin is named; docs/devices.md says how to get one");
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const why = dlerror();
      throw device_error(text("pjrt: ", path_, ": cannot be loaded (", why == nullptr ? "?" : why,
                              "); docs/devices.md says how to get a plugin"));
    }
    const auto get = reinterpret_cast<pjrt_api::get_api>(dlsym(library, pjrt_api::symbol));
    require<device_error>(get != nullptr, "pjrt: ", path_, ": is no PJRT plugin: it has no symbol ",
                          pjrt_api::symbol);
    Dl_info loaded{};
    if (dladdr(reinterpret_cast<const void*>(get), &loaded) != 0 && loaded.dli_fname != nullptr) {
      file_ = loaded.dli_fname;
    }
    api_ = get();
    require<device_error>(api_ != nullptr, "pjrt: ", path_, ": gives no table of its functions");
    const auto& version = api_->version;
    // Entry points are only ever added at the end of the table, within a major version.
    const bool complete = api_->struct_size >= sizeof(pjrt_api::api);
    require<device_error>(version.major_version == pjrt_api::major_version && complete,
                          "pjrt: ", path_, ": has version ", version.major_version, '.',
                          version.minor_version, " of PJRT's C API, expected ",
                          pjrt_api::major_version, '.', pjrt_api::minor_version,
                          ", or one near it; get a plugin of about the same age");
    pjrt_api::plugin_initialize_args args;
    call(api_->plugin_initialize, args, "be initialized");
  }

  [[nodiscard]] const pjrt_api::api& api() const noexcept { return *api_; }
  /// As it was given.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Where the library was found.
  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

  /// Calls an entry point. Throws `pjrt_error` with the plugin's own words: "pjrt: cannot `what`:
  /// ...".
  template <class Args>
  void call(pjrt_api::entry<Args> function, Args& args, std::string_view what) const {
    pjrt_api::error* const failure = function(&args);
    if (failure != nullptr) {
      fail(failure, what);
    }
  }
  /// The same where nobody could do anything about an error, as in destructors.
  template <class Args>
  void call_quietly(pjrt_api::entry<Args> function, Args& args) const noexcept {
    pjrt_api::error* const failure = function(&args);
    if (failure != nullptr) {
      destroy(failure);
    }
  }

 private:
  [[noreturn]] void fail(pjrt_api::error* failure, std::string_view what) const {
    pjrt_api::error_message_args message;
    message.error = failure;
    api_->error_message(&message);
    const std::string words(message.message, message.message_size);
    pjrt_api::error_get_code_args code;
    code.error = failure;
    call_quietly(api_->error_get_code, code);
    destroy(failure);
    throw pjrt_error(
        text("pjrt: ", path_, ": cannot ", what, ": ", words, advice_for(code.code, what)),
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
