#pragma once

#if defined(__wasm__)

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "glia/core/platform/file.hpp"

// The files of C, for systems without others. A program is alone and has one thread there, so locks
// are not needed.

namespace glia::platform {

namespace none {

[[nodiscard]] inline std::FILE* stream_of(std::intptr_t handle) {
  return reinterpret_cast<std::FILE*>(handle);
}

/// Sets `failure` to the last error if `succeeded` is false.
inline void note(bool succeeded, std::error_code& failure) {
  failure = succeeded ? std::error_code{}
                      : std::error_code{errno == 0 ? EIO : errno, std::generic_category()};
}

/// Opens a file; returns -1, which is no handle, if that fails.
[[nodiscard]] inline std::intptr_t open(const std::filesystem::path& path, const char* mode,
                                        std::error_code& failure) {
  errno = 0;
  std::FILE* const stream = std::fopen(path.c_str(), mode);
  note(stream != nullptr, failure);
  if (stream == nullptr) {
    return -1;
  }
  std::setvbuf(stream, nullptr, _IONBF, 0);
  return reinterpret_cast<std::intptr_t>(stream);
}

}  // namespace none

inline file file::open(const std::filesystem::path& path, std::error_code& failure) {
  return file(none::open(path, "rb", failure));
}

inline file file::create(const std::filesystem::path& path, std::filesystem::perms /*permissions*/,
                         std::error_code& failure) {
  return file(none::open(path, "wbx", failure));
}

inline file file::open_to_lock(const std::filesystem::path& path, std::error_code& failure) {
  return file(none::open(path, "ab", failure));
}

inline file file::temporary(const std::filesystem::path& /*folder*/, std::error_code& failure) {
  std::FILE* const stream = std::tmpfile();
  none::note(stream != nullptr, failure);
  return stream == nullptr ? file{} : file(reinterpret_cast<std::intptr_t>(stream));
}

inline void file::close() noexcept {
  if (*this) {
    std::fclose(none::stream_of(handle_));
    handle_ = no_handle;
  }
}

inline bool file::is_regular() const noexcept {
  struct stat status {};
  return ::fstat(::fileno(none::stream_of(handle_)), &status) == 0 && S_ISREG(status.st_mode);
}

inline std::uint64_t file::size() const noexcept {
  std::FILE* const stream = none::stream_of(handle_);
  const long position = std::ftell(stream);
  std::fseek(stream, 0, SEEK_END);
  const long end = std::ftell(stream);
  std::fseek(stream, position, SEEK_SET);
  return end < 0 ? 0 : static_cast<std::uint64_t>(end);
}

inline bool file::is_removed() const noexcept { return false; }

inline void file::write(std::span<const std::byte> bytes, std::error_code& failure) {
  errno = 0;
  none::note(std::fwrite(bytes.data(), 1, bytes.size(), none::stream_of(handle_)) == bytes.size(),
             failure);
}

inline void file::write_at(std::uint64_t position, std::span<const std::byte> bytes,
                           std::error_code& failure) const {
  std::FILE* const stream = none::stream_of(handle_);
  errno = 0;
  none::note(std::fseek(stream, static_cast<long>(position), SEEK_SET) == 0 &&
                 std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size(),
             failure);
}

inline void file::read_at(std::uint64_t position, std::span<std::byte> bytes,
                          std::error_code& failure) const {
  std::FILE* const stream = none::stream_of(handle_);
  errno = 0;
  none::note(std::fseek(stream, static_cast<long>(position), SEEK_SET) == 0 &&
                 std::fread(bytes.data(), 1, bytes.size(), stream) == bytes.size(),
             failure);
}

inline void file::reserve(std::uint64_t bytes, std::error_code& failure) {
  failure.clear();
  if (bytes > 0) {
    const std::byte last{};
    write_at(bytes - 1, {&last, 1}, failure);
  }
}

inline void file::synchronize(std::error_code& failure) { failure.clear(); }
inline void file::set_permissions(std::filesystem::perms /*permissions*/) noexcept {}
inline void file::lock() {}
inline lock_result file::try_lock(bool /*shared*/) { return lock_result::acquired; }
inline void file::unlock() {}

/// Reads the file into memory, since there is no mapping.
inline std::span<const std::byte> file::map(std::error_code& failure) const {
  const std::size_t bytes = mappable_size(failure);
  if (failure) {
    return {};
  }
  auto* const copy = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  if (copy == nullptr) {
    failure = std::make_error_code(std::errc::not_enough_memory);
    return {};
  }
  read_at(0, {copy, bytes}, failure);
  if (failure) {
    std::free(copy);
    return {};
  }
  return {copy, bytes};
}

inline void file::unmap(std::span<const std::byte> bytes) noexcept {
  std::free(const_cast<std::byte*>(bytes.data()));
}

inline void replace_file(const std::filesystem::path& path, const std::filesystem::path& target,
                         std::error_code& failure) {
  errno = 0;
  none::note(std::rename(path.c_str(), target.c_str()) == 0, failure);
}

inline void synchronize_folder(const std::filesystem::path& /*folder*/) {}

}  // namespace glia::platform

#endif
