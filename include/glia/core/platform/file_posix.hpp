#pragma once

#if !defined(_WIN32) && !defined(__wasm__)

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "glia/core/platform/file.hpp"

// <sys/mman.h> defines this mask of flags as a macro. glia does not use it, and ONNX's headers,
// which may be included later, have an enumerator of that name.
#undef MAP_TYPE

namespace glia::platform {

namespace posix {

[[nodiscard]] inline std::error_code last_error() { return {errno, std::generic_category()}; }

/// Sets `failure` to the last error if `succeeded` is false.
inline void note(bool succeeded, std::error_code& failure) {
  failure = succeeded ? std::error_code{} : last_error();
}

/// Opens a file; returns -1, which is no handle, if that fails.
[[nodiscard]] inline int open(const std::filesystem::path& path, int flags,
                              std::error_code& failure, mode_t mode = 0) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  note(descriptor >= 0, failure);
  return descriptor;
}

/// Calls `call(bytes, position)` until all bytes are transferred. macOS transfers less than 2 GiB
/// at once.
template <class Bytes, class Call>
void transfer(Bytes bytes, std::uint64_t position, std::error_code& failure, const Call& call) {
  constexpr std::size_t most_bytes = std::size_t{1} << 30U;
  failure.clear();
  while (!bytes.empty()) {
    const ssize_t count =
        call(bytes.first(std::min(bytes.size(), most_bytes)), static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      failure = count < 0 ? last_error() : std::make_error_code(std::errc::io_error);
      return;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    position += static_cast<std::uint64_t>(count);
  }
}

}  // namespace posix

inline file file::open(const std::filesystem::path& path, std::error_code& failure) {
  return file(posix::open(path, O_RDONLY | O_NONBLOCK, failure));
}

inline file file::create(const std::filesystem::path& path, std::filesystem::perms permissions,
                         std::error_code& failure) {
  return file(
      posix::open(path, O_WRONLY | O_CREAT | O_EXCL, failure, static_cast<mode_t>(permissions)));
}

inline file file::open_to_lock(const std::filesystem::path& path, std::error_code& failure) {
  return file(posix::open(path, O_RDWR | O_CREAT, failure, 0666));
}

inline file file::temporary(const std::filesystem::path& folder, std::error_code& failure) {
  std::string name = (folder / "glia-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  posix::note(descriptor >= 0, failure);
  if (descriptor >= 0) {
    ::unlink(name.c_str());
  }
  return file(descriptor);
}

inline void file::close() noexcept {
  if (*this) {
    ::close(static_cast<int>(handle_));
    handle_ = no_handle;
  }
}

inline bool file::is_regular() const noexcept {
  struct stat status {};
  return ::fstat(static_cast<int>(handle_), &status) == 0 && S_ISREG(status.st_mode);
}

inline std::uint64_t file::size() const noexcept {
  struct stat status {};
  return ::fstat(static_cast<int>(handle_), &status) == 0
             ? static_cast<std::uint64_t>(status.st_size)
             : 0;
}

inline bool file::is_removed() const noexcept {
  struct stat status {};
  return ::fstat(static_cast<int>(handle_), &status) == 0 && status.st_nlink == 0;
}

inline void file::write(std::span<const std::byte> bytes, std::error_code& failure) {
  posix::transfer(bytes, 0, failure, [this](std::span<const std::byte> rest, off_t) {
    return ::write(static_cast<int>(handle_), rest.data(), rest.size());
  });
}

inline void file::write_at(std::uint64_t position, std::span<const std::byte> bytes,
                           std::error_code& failure) const {
  posix::transfer(bytes, position, failure, [this](std::span<const std::byte> rest, off_t offset) {
    return ::pwrite(static_cast<int>(handle_), rest.data(), rest.size(), offset);
  });
}

inline void file::read_at(std::uint64_t position, std::span<std::byte> bytes,
                          std::error_code& failure) const {
  posix::transfer(bytes, position, failure, [this](std::span<std::byte> rest, off_t offset) {
    return ::pread(static_cast<int>(handle_), rest.data(), rest.size(), offset);
  });
}

inline void file::reserve(std::uint64_t bytes, std::error_code& failure) {
#if defined(__APPLE__)
  fstore_t request{F_ALLOCATEALL, F_PEOFPOSMODE, 0, static_cast<off_t>(bytes), 0};
  posix::note((::fcntl(static_cast<int>(handle_), F_PREALLOCATE, &request) == 0 ||
               errno == ENOTSUP) &&  // on network file systems
                  ::ftruncate(static_cast<int>(handle_), static_cast<off_t>(bytes)) == 0,
              failure);
#else
  int result = EINTR;
  while (result == EINTR) {
    result = ::posix_fallocate(static_cast<int>(handle_), 0, static_cast<off_t>(bytes));
  }
  failure = {result, std::generic_category()};
#endif
}

inline void file::synchronize(std::error_code& failure) {
#if defined(__APPLE__)
  // Here, fsync does not wait for the cache of the disk.
  if (::fcntl(static_cast<int>(handle_), F_FULLFSYNC) == 0) {
    failure.clear();
    return;
  }
#endif
  posix::note(::fsync(static_cast<int>(handle_)) == 0 || errno == EINVAL || errno == ENOTSUP ||
                  errno == ENOSYS,  // some file systems cannot
              failure);
}

inline void file::set_permissions(std::filesystem::perms permissions) noexcept {
  ::fchmod(static_cast<int>(handle_), static_cast<mode_t>(permissions));
}

inline void file::lock() {
  while (::flock(static_cast<int>(handle_), LOCK_EX) != 0 && errno == EINTR) {
  }
}

inline lock_result file::try_lock(bool shared) {
  if (::flock(static_cast<int>(handle_), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) {
    return lock_result::acquired;
  }
  return errno == EWOULDBLOCK ? lock_result::refused : lock_result::unsupported;
}

inline void file::unlock() { ::flock(static_cast<int>(handle_), LOCK_UN); }

inline std::span<const std::byte> file::map(std::error_code& failure) const {
  const std::size_t bytes = mappable_size(failure);
  if (failure) {
    return {};
  }
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, static_cast<int>(handle_), 0);
  posix::note(mapped != MAP_FAILED, failure);
  return failure ? std::span<const std::byte>{}
                 : std::span(static_cast<const std::byte*>(mapped), bytes);
}

inline void file::unmap(std::span<const std::byte> bytes) noexcept {
  ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

inline void replace_file(const std::filesystem::path& path, const std::filesystem::path& target,
                         std::error_code& failure) {
  posix::note(std::rename(path.c_str(), target.c_str()) == 0, failure);
}

inline void synchronize_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  const int descriptor = posix::open(folder, O_RDONLY | O_DIRECTORY, ignored);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

}  // namespace glia::platform

#endif
