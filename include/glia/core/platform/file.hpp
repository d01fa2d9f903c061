#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

namespace glia::platform {

/// The result of an attempt to lock a file.
enum class lock_result : std::uint8_t { acquired, refused, unsupported };

/// An open file. Programs that this program starts do not inherit it. Functions that can fail set
/// `failure`, as those of `std::filesystem` do; they clear it if they succeed.
class file {
 public:
  /// No file.
  file() = default;
  file(file&& other) noexcept : handle_(std::exchange(other.handle_, no_handle)) {}
  file& operator=(file&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~file() { close(); }

  /// Opens a file for reading. Does not wait for a pipe.
  [[nodiscard]] static file open(const std::filesystem::path& path, std::error_code& failure);
  /// Creates a file for writing. Fails with `std::errc::file_exists` if the name is in use.
  [[nodiscard]] static file create(const std::filesystem::path& path,
                                   std::filesystem::perms permissions, std::error_code& failure);
  /// Opens a file for locking, and creates it if it does not exist.
  [[nodiscard]] static file open_to_lock(const std::filesystem::path& path,
                                         std::error_code& failure);
  /// Creates a file for reading and writing in a folder. The system removes it when it is closed,
  /// also after a crash.
  [[nodiscard]] static file temporary(const std::filesystem::path& folder,
                                      std::error_code& failure);

  /// Whether a file is open.
  explicit operator bool() const noexcept { return handle_ != no_handle; }
  /// The system's name of the file: a number, or a pointer as one.
  [[nodiscard]] std::intptr_t handle() const noexcept { return handle_; }

  /// Whether this is neither a folder nor a pipe nor a device.
  [[nodiscard]] bool is_regular() const noexcept;
  /// The size in bytes; 0 if the system does not say.
  [[nodiscard]] std::uint64_t size() const noexcept;
  /// Whether the file no longer has a name.
  [[nodiscard]] bool is_removed() const noexcept;

  /// Writes all bytes at the end of those that `write` has written. Do not use it together with
  /// `write_at` and `read_at`, which move this position on Windows.
  void write(std::span<const std::byte> bytes, std::error_code& failure);
  /// Writes all bytes at a position. Several threads may call this at the same time.
  void write_at(std::uint64_t position, std::span<const std::byte> bytes,
                std::error_code& failure) const;
  /// Reads as many bytes as the span has. Several threads may call this at the same time.
  void read_at(std::uint64_t position, std::span<std::byte> bytes, std::error_code& failure) const;

  /// Makes the file this large and allocates its space on the disk.
  void reserve(std::uint64_t bytes, std::error_code& failure);
  /// Waits until the bytes are on the disk.
  void synchronize(std::error_code& failure);

  /// Sets who may read and write the file, if the system has such permissions. On Windows it does
  /// nothing.
  void set_permissions(std::filesystem::perms permissions) noexcept;

  /// Waits until no other program holds a lock on the file, and locks it if the file system can.
  void lock();
  /// Locks the file, against other programs or also against those with a shared lock, if this is
  /// possible without waiting.
  [[nodiscard]] lock_result try_lock(bool shared);
  /// Releases the lock, also for programs that have inherited it.
  void unlock();

  /// Maps the whole file, which must not be empty, for reading. `unmap` ends it; the file may be
  /// closed before.
  [[nodiscard]] std::span<const std::byte> map(std::error_code& failure) const;
  static void unmap(std::span<const std::byte> bytes) noexcept;

 private:
  static constexpr std::intptr_t no_handle = -1;

  explicit file(std::intptr_t handle) : handle_(handle) {}
  void close() noexcept;
  /// Returns the size for `map`. Fails with `std::errc::file_too_large` if a pointer has too few
  /// bits for it.
  [[nodiscard]] std::size_t mappable_size(std::error_code& failure) const;

  std::intptr_t handle_ = no_handle;
};

inline std::size_t file::mappable_size(std::error_code& failure) const {
  const std::uint64_t bytes = size();
  failure = bytes <= std::numeric_limits<std::size_t>::max() / 2
                ? std::error_code{}
                : std::make_error_code(std::errc::file_too_large);
  return static_cast<std::size_t>(bytes);
}

/// Gives a file the name of another one, which is replaced.
void replace_file(const std::filesystem::path& path, const std::filesystem::path& target,
                  std::error_code& failure);
/// Waits until the names in a folder are on the disk, if the system can.
void synchronize_folder(const std::filesystem::path& folder);

}  // namespace glia::platform

#if defined(_WIN32)
#include "glia/core/platform/file_windows.hpp"
#elif defined(__wasm__)
#include "glia/core/platform/file_none.hpp"
#else
#include "glia/core/platform/file_posix.hpp"
#endif
