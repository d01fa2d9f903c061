#pragma once

#if defined(_WIN32)
#include "glia/core/platform/windows_api.hpp"
#elif !defined(__wasm__)
#include <dlfcn.h>
#endif

#include <filesystem>
#include <string>

namespace glia::platform {

/// Loads a shared library, which stays loaded until the program ends. Returns null and sets
/// `reason` if it cannot be loaded.
[[nodiscard]] inline void* load_library(const std::filesystem::path& path, std::string& reason) {
#if defined(_WIN32)
  void* const library = reinterpret_cast<void*>(LoadLibraryW(path.c_str()));
  if (library == nullptr) {
    reason = windows::last_error().message();
  }
  return library;
#elif defined(__wasm__)
  static_cast<void>(path);
  reason = "this system has no shared libraries";
  return nullptr;
#else
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const said = ::dlerror();
    reason = said == nullptr ? "?" : said;
  }
  return library;
#endif
}

/// Returns a function of a loaded library, or null.
template <class Function>
[[nodiscard]] Function function_in(void* library, const char* name) {
#if defined(_WIN32)
  return reinterpret_cast<Function>(
      reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name)));
#elif defined(__wasm__)
  static_cast<void>(library);
  static_cast<void>(name);
  return nullptr;
#else
  return reinterpret_cast<Function>(::dlsym(library, name));
#endif
}

/// Returns the file of the loaded library that contains a function; empty if it is not known.
template <class Function>
[[nodiscard]] std::filesystem::path library_file(Function function) {
#if defined(_WIN32)
  HMODULE module = nullptr;
  if (GetModuleHandleExW(
          GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
          reinterpret_cast<LPCWSTR>(function), &module) == 0) {
    return {};
  }
  return windows::module_path(module);
#elif defined(__wasm__)
  static_cast<void>(function);
  return {};
#else
  Dl_info found{};
  const bool known = ::dladdr(reinterpret_cast<const void*>(function), &found) != 0;
  return known && found.dli_fname != nullptr ? found.dli_fname : "";
#endif
}

}  // namespace glia::platform
