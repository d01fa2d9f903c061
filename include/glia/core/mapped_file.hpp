#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "glia/core/error.hpp"

// <sys/mman.h> defines this mask of flags, which nobody needs here, as a macro; it is the name of
// an enumerator in ONNX's own headers, which may follow.
#undef MAP_TYPE

namespace glia::detail {

/// A file's bytes where the system keeps them, read when they are first looked at. The file must
/// not become shorter while it lives.
class mapped_file {
 public:
  /// Throws `data_error`, naming the path, where the file cannot be read.
  explicit mapped_file(const std::filesystem::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    require<data_error>(file >= 0, path.string(), ": cannot be read (", reason(), ")");
    struct stat found {};
    const bool regular = fstat(file, &found) == 0 && S_ISREG(found.st_mode);
    const auto size = regular ? static_cast<std::size_t>(found.st_size) : 0;
    void* const at = size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0)
                              : static_cast<void*>(nullptr);
    const std::string why = at == MAP_FAILED ? reason() : "";
    close(file);
    require<data_error>(regular, path.string(), ": is no file with bytes of its own");
    require<data_error>(at != MAP_FAILED, path.string(), ": cannot be read (", why, ")");
    bytes_ = {static_cast<const std::byte*>(at), size};
  }
  mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~mapped_file() {
    if (!bytes_.empty()) {
      munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    }
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] static std::string reason() { return std::generic_category().message(errno); }

  std::span<const std::byte> bytes_;
};

}  // namespace glia::detail
