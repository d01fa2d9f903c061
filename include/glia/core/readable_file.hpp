#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "glia/core/error.hpp"

// <sys/mman.h> defines this mask of flags as a macro. glia does not use it, and ONNX's headers,
// which may be included later, have an enumerator of that name.
#undef MAP_TYPE

namespace glia::detail {

/// A regular file that is open for reading.
class readable_file {
 public:
  /// Opens the file. Throws `data_error`, with the path, if it cannot be read or is a folder, a
  /// pipe or a device. Does not wait for a pipe.
  explicit readable_file(const std::filesystem::path& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    require<data_error>(descriptor_ >= 0, path.string(), ": cannot be read (", reason(), ")");
    struct stat found {};
    if (fstat(descriptor_, &found) != 0 || !S_ISREG(found.st_mode)) {
      close(descriptor_);
      fail<data_error>({path.string(), ": is not a regular file"});
    }
    size_ = static_cast<std::size_t>(found.st_size);
  }
  readable_file(readable_file&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        size_(other.size_) {}
  readable_file& operator=(readable_file&& other) = delete;
  ~readable_file() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Maps the whole file for reading. Throws `data_error`, with the path, if the file cannot be
  /// read.
  [[nodiscard]] const void* map() const {
    void* const mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    require<data_error>(mapped != MAP_FAILED, path_.string(), ": cannot be read (", reason(), ")");
    return mapped;
  }

 private:
  [[nodiscard]] static std::string reason() { return std::generic_category().message(errno); }

  std::filesystem::path path_;
  int descriptor_;
  std::size_t size_ = 0;
};

}  // namespace glia::detail
