#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/platform/file.hpp"

namespace glia::detail {

/// A regular file that is open for reading.
class readable_file {
 public:
  /// Opens the file. Throws `data_error`, with the path, if it cannot be read or is a folder, a
  /// pipe or a device. Does not wait for a pipe.
  explicit readable_file(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code failure;
    file_ = platform::file::open(path_, failure);
    require_success(failure);
    require<data_error>(file_.is_regular(), path_.string(), ": is not a regular file");
    size_ = file_.size();
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Maps the whole file, which must not be empty, for reading. Throws `data_error`, with the path,
  /// if the file cannot be read.
  [[nodiscard]] std::span<const std::byte> map() const {
    std::error_code failure;
    const std::span<const std::byte> bytes = file_.map(failure);
    require_success(failure);
    return bytes;
  }

 private:
  void require_success(std::error_code failure) const {
    require<data_error>(!failure, path_.string(), ": cannot be read (", failure.message(), ")");
  }

  std::filesystem::path path_;
  platform::file file_;
  std::uint64_t size_ = 0;
};

}  // namespace glia::detail
