#pragma once

#if defined(_WIN32)

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "glia/core/platform/file.hpp"
#include "glia/core/platform/windows_api.hpp"

namespace glia::platform {

namespace windows {

[[nodiscard]] inline OVERLAPPED at_position(std::uint64_t position) {
  OVERLAPPED result{};
  result.Offset = static_cast<DWORD>(position);
  result.OffsetHigh = static_cast<DWORD>(position >> 32U);
  return result;
}
/// Locks lie far behind the end of the file, because Windows lets nobody else read locked bytes.
inline constexpr std::uint64_t lock_position = std::uint64_t{1} << 62U;

[[nodiscard]] inline HANDLE handle_of(std::intptr_t handle) {
  return reinterpret_cast<HANDLE>(handle);
}

/// Opens a file that other programs may read, write, rename and remove meanwhile. Returns
/// INVALID_HANDLE_VALUE, which is no handle, if that fails.
[[nodiscard]] inline std::intptr_t open(const std::filesystem::path& path, DWORD access,
                                        DWORD creation, DWORD flags, std::error_code& failure) {
  const HANDLE handle = CreateFileW(api_path(path).c_str(), access,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    creation, flags, nullptr);
  note(handle != INVALID_HANDLE_VALUE, failure);
  return reinterpret_cast<std::intptr_t>(handle);
}

/// Calls `call(bytes, size, count, position)` until all bytes are transferred.
template <class Bytes, class Call>
void transfer(Bytes bytes, std::uint64_t position, std::error_code& failure, const Call& call) {
  constexpr std::size_t most_bytes = std::size_t{1} << 30U;
  failure.clear();
  while (!bytes.empty()) {
    OVERLAPPED start = at_position(position);
    DWORD count = 0;
    const auto size = static_cast<DWORD>(std::min(bytes.size(), most_bytes));
    if (call(bytes.data(), size, &count, &start) == 0) {
      failure = last_error();
      return;
    }
    if (count == 0) {
      failure = std::make_error_code(std::errc::io_error);
      return;
    }
    bytes = bytes.subspan(count);
    position += count;
  }
}

}  // namespace windows

inline file file::open(const std::filesystem::path& path, std::error_code& failure) {
  return file(windows::open(path, GENERIC_READ, OPEN_EXISTING,
                            FILE_FLAG_BACKUP_SEMANTICS,  // opens folders, as POSIX does
                            failure));
}

inline file file::create(const std::filesystem::path& path, std::filesystem::perms /*permissions*/,
                         std::error_code& failure) {
  return file(windows::open(path, GENERIC_WRITE | GENERIC_READ, CREATE_NEW, FILE_ATTRIBUTE_NORMAL,
                            failure));
}

inline file file::open_to_lock(const std::filesystem::path& path, std::error_code& failure) {
  return file(windows::open(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL,
                            failure));
}

inline file file::temporary(const std::filesystem::path& folder, std::error_code& failure) {
  static std::atomic<unsigned> counter{0};
  for (;;) {
    const std::filesystem::path path = folder / ("glia-" + std::to_string(GetCurrentProcessId()) +
                                                 "-" + std::to_string(counter.fetch_add(1)));
    file result(windows::open(path, GENERIC_READ | GENERIC_WRITE, CREATE_NEW,
                              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, failure));
    if (failure != std::errc::file_exists) {
      return result;
    }
  }
}

inline void file::close() noexcept {
  if (*this) {
    CloseHandle(windows::handle_of(handle_));
    handle_ = no_handle;
  }
}

inline bool file::is_regular() const noexcept {
  BY_HANDLE_FILE_INFORMATION status{};
  return GetFileType(windows::handle_of(handle_)) == FILE_TYPE_DISK &&
         GetFileInformationByHandle(windows::handle_of(handle_), &status) != 0 &&
         (status.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

inline std::uint64_t file::size() const noexcept {
  LARGE_INTEGER bytes{};
  return GetFileSizeEx(windows::handle_of(handle_), &bytes) != 0
             ? static_cast<std::uint64_t>(bytes.QuadPart)
             : 0;
}

inline bool file::is_removed() const noexcept {
  FILE_STANDARD_INFO status{};
  return GetFileInformationByHandleEx(windows::handle_of(handle_), FileStandardInfo, &status,
                                      sizeof(status)) != 0 &&
         (status.DeletePending != 0 || status.NumberOfLinks == 0);
}

inline void file::write(std::span<const std::byte> bytes, std::error_code& failure) {
  windows::transfer(bytes, 0, failure,
                    [this](const std::byte* source, DWORD size, DWORD* count, OVERLAPPED*) {
                      return WriteFile(windows::handle_of(handle_), source, size, count, nullptr);
                    });
}

inline void file::write_at(std::uint64_t position, std::span<const std::byte> bytes,
                           std::error_code& failure) const {
  windows::transfer(bytes, position, failure,
                    [this](const std::byte* source, DWORD size, DWORD* count, OVERLAPPED* start) {
                      return WriteFile(windows::handle_of(handle_), source, size, count, start);
                    });
}

inline void file::read_at(std::uint64_t position, std::span<std::byte> bytes,
                          std::error_code& failure) const {
  windows::transfer(bytes, position, failure,
                    [this](std::byte* target, DWORD size, DWORD* count, OVERLAPPED* start) {
                      return ReadFile(windows::handle_of(handle_), target, size, count, start);
                    });
}

inline void file::reserve(std::uint64_t bytes, std::error_code& failure) {
  FILE_END_OF_FILE_INFO end{};
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
  windows::note(SetFileInformationByHandle(windows::handle_of(handle_), FileEndOfFileInfo, &end,
                                           sizeof(end)) != 0,
                failure);
}

inline void file::synchronize(std::error_code& failure) {
  windows::note(FlushFileBuffers(windows::handle_of(handle_)) != 0, failure);
}

inline void file::set_permissions(std::filesystem::perms /*permissions*/) noexcept {}

inline void file::lock() {
  OVERLAPPED part = windows::at_position(windows::lock_position);
  LockFileEx(windows::handle_of(handle_), LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &part);
}

inline lock_result file::try_lock(bool shared) {
  OVERLAPPED part = windows::at_position(windows::lock_position);
  const DWORD flags = LOCKFILE_FAIL_IMMEDIATELY | (shared ? 0 : LOCKFILE_EXCLUSIVE_LOCK);
  if (LockFileEx(windows::handle_of(handle_), flags, 0, 1, 0, &part) != 0) {
    return lock_result::acquired;
  }
  const DWORD error = GetLastError();
  return error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING ? lock_result::refused
                                                                    : lock_result::unsupported;
}

inline void file::unlock() {
  OVERLAPPED part = windows::at_position(windows::lock_position);
  UnlockFileEx(windows::handle_of(handle_), 0, 1, 0, &part);
}

inline std::span<const std::byte> file::map(std::error_code& failure) const {
  const std::size_t bytes = mappable_size(failure);
  if (failure) {
    return {};
  }
  const HANDLE mapping =
      CreateFileMappingW(windows::handle_of(handle_), nullptr, PAGE_READONLY, 0, 0, nullptr);
  windows::note(mapping != nullptr, failure);
  if (failure) {
    return {};
  }
  const void* const mapped = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  windows::note(mapped != nullptr, failure);
  CloseHandle(mapping);  // the mapped bytes keep what they need
  return failure ? std::span<const std::byte>{}
                 : std::span(static_cast<const std::byte*>(mapped), bytes);
}

inline void file::unmap(std::span<const std::byte> bytes) noexcept {
  UnmapViewOfFile(bytes.data());
}

inline void replace_file(const std::filesystem::path& path, const std::filesystem::path& target,
                         std::error_code& failure) {
  const DWORD attributes = GetFileAttributesW(windows::api_path(target).c_str());
  if (attributes != INVALID_FILE_ATTRIBUTES &&
      (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_READONLY)) != 0) {
    failure = std::make_error_code(std::errc::permission_denied);
    return;
  }
  // Another program that opens or replaces the target has it for a moment, and searches for viruses
  // take longer.
  constexpr int tries = 200;
  for (int i = 0; i < tries; ++i) {
    windows::note(MoveFileExW(windows::api_path(path).c_str(), windows::api_path(target).c_str(),
                              MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0,
                  failure);
    if (failure != std::errc::permission_denied) {
      return;
    }
    Sleep(5);
  }
}

inline void synchronize_folder(const std::filesystem::path& /*folder*/) {}  // see replace_file

}  // namespace glia::platform

#endif
