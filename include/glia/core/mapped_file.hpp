#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include "glia/core/platform/file.hpp"
#include "glia/core/readable_file.hpp"

namespace glia::detail {

/// The mapped bytes of a file, which the system reads at the first access. The file must not become
/// shorter while this object exists.
class mapped_file {
 public:
  /// Maps the file. Throws `data_error`, with the path, if the file cannot be read.
  explicit mapped_file(const std::filesystem::path& path) : mapped_file(readable_file(path)) {}
  explicit mapped_file(const readable_file& file) {
    if (file.size() > 0) {
      bytes_ = file.map();
    }
  }
  mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~mapped_file() {
    if (!bytes_.empty()) {
      platform::file::unmap(bytes_);
    }
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace glia::detail
