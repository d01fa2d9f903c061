#pragma once

#if defined(_WIN32)

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

// Words that programs and other libraries use as names.
#undef ERROR
#undef far
#undef near

namespace glia::platform::windows {

/// Returns the last error of the Windows API. Errors that POSIX has as well are POSIX's, so that
/// programs can compare them, and messages are the same on all systems.
[[nodiscard]] inline std::error_code last_error() {
  const DWORD number = GetLastError();
  const auto posix = [](std::errc error) { return std::make_error_code(error); };
  switch (number) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
      return posix(std::errc::no_such_file_or_directory);
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_WRITE_PROTECT:
    case ERROR_USER_MAPPED_FILE:
      return posix(std::errc::permission_denied);
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return posix(std::errc::file_exists);
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return posix(std::errc::no_space_on_device);
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
      return posix(std::errc::not_enough_memory);
    case ERROR_TOO_MANY_OPEN_FILES:
      return posix(std::errc::too_many_files_open);
    case ERROR_DIRECTORY:
      return posix(std::errc::not_a_directory);
    case ERROR_HANDLE_EOF:
      return posix(std::errc::io_error);
    default:
      return {static_cast<int>(number), std::system_category()};
  }
}

/// Sets `failure` to the last error if `succeeded` is false.
inline void note(bool succeeded, std::error_code& failure) {
  failure = succeeded ? std::error_code{} : last_error();
}

/// Returns the file of a loaded program or library. Null is the running program.
[[nodiscard]] inline std::filesystem::path module_path(HMODULE module) {
  std::wstring path(32768, L'\0');
  path.resize(GetModuleFileNameW(module, path.data(), static_cast<DWORD>(path.size())));
  return path;
}

/// Returns a path in the form that may be longer than 260 characters, if it needs this form.
[[nodiscard]] inline std::wstring api_path(const std::filesystem::path& path) {
  constexpr std::size_t longest_plain = 247;  // the limit of folders; files may be 12 longer
  std::wstring full(32768, L'\0');
  full.resize(
      GetFullPathNameW(path.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr));
  const bool is_plain = !full.starts_with(L"\\\\?\\") && !full.starts_with(L"\\\\.\\");
  if (full.size() <= longest_plain || !is_plain) {
    return path.native();
  }
  return full.starts_with(L"\\\\") ? L"\\\\?\\UNC" + full.substr(1) : L"\\\\?\\" + full;
}

}  // namespace glia::platform::windows

#endif
