#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// Stores rows of equally many floats in memory, or in a temporary file if they exceed a limit. The
/// file has no name, so that the system removes it at the end of the program, even after a crash.
///
/// Several threads may write different rows at the same time. Child processes do not inherit the
/// file.
///
/// Throws `value_error` if the size in bytes exceeds the largest file size. Throws `data_error`,
/// with the name of the folder, if the file cannot be created, written or read.
class row_store {
 public:
  /// Options of `row_store`.
  struct options {
    /// The largest size in bytes of rows kept in memory; 1 GiB by default.
    std::size_t memory_limit = std::size_t{1} << 30;
    /// The folder of the temporary file. If empty, the file is in the system's folder for temporary
    /// files.
    std::filesystem::path folder = {};
  };

  /// Allocates memory, or disk space, for `rows` rows of `row_size` floats.
  row_store(std::size_t rows, std::size_t row_size, const options& storage)
      : row_size_(row_size), folder_(storage.folder) {
    // File sizes are signed numbers.
    constexpr auto max_bytes = static_cast<std::size_t>(std::numeric_limits<off_t>::max());
    require<value_error>(row_size == 0 || rows <= max_bytes / sizeof(float) / row_size,
                         "row_store: ", rows, " rows of ", row_size,
                         " floats exceed the largest size of a file");
    const std::size_t bytes = rows * row_size * sizeof(float);
    if (bytes <= storage.memory_limit) {
      values_.resize(rows * row_size);
    } else {
      open_file(bytes);
    }
  }
  row_store(row_store&& other) noexcept
      : row_size_(other.row_size_),
        values_(std::move(other.values_)),
        folder_(std::move(other.folder_)),
        file_(std::exchange(other.file_, -1)) {}
  row_store& operator=(row_store&& other) noexcept {
    std::swap(row_size_, other.row_size_);
    std::swap(values_, other.values_);
    std::swap(folder_, other.folder_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~row_store() {
    if (file_ >= 0) {
      close(file_);
    }
  }

  /// Whether the rows are in memory and not in a file.
  [[nodiscard]] bool in_memory() const { return file_ < 0; }

  /// Writes one or several rows, beginning with row number `row`.
  void write(std::size_t row, std::span<const float> values) {
    if (in_memory()) {
      std::copy(values.begin(), values.end(), values_.data() + row * row_size_);
      return;
    }
    transfer(row, std::as_bytes(values),
             [this](const std::byte* source, std::size_t n, off_t offset) {
               return pwrite(file_, source, n, offset);
             });
  }
  /// Reads one or several rows, beginning with row number `row`.
  void read(std::size_t row, std::span<float> values) const {
    if (in_memory()) {
      std::copy_n(values_.data() + row * row_size_, values.size(), values.data());
      return;
    }
    transfer(row, std::as_writable_bytes(values),
             [this](std::byte* destination, std::size_t n, off_t offset) {
               return pread(file_, destination, n, offset);
             });
  }

 private:
  void open_file(std::size_t bytes) {
    if (folder_.empty()) {
      std::error_code failure;
      folder_ = std::filesystem::temp_directory_path(failure);
      require<data_error>(!failure, "row_store: the system's temporary folder cannot be used (",
                          failure.message(),
                          "); set the environment variable TMPDIR to another folder, or set "
                          "row_store::options::folder or a larger memory_limit");
    }
    std::string name = (folder_ / "glia-rows-XXXXXX").string();
    file_ = mkostemp(name.data(), O_CLOEXEC);
    check(file_ >= 0);
    unlink(name.c_str());
    // Allocate the disk space now, so that a full disk is found before the work and not after it.
    int failure = EINTR;
    while (failure == EINTR) {
      failure = posix_fallocate(file_, 0, static_cast<off_t>(bytes));
    }
    if (failure != 0) {
      close(std::exchange(file_, -1));
    }
    errno = failure;
    check(failure == 0);
  }

  template <class Bytes, class Call>
  void transfer(std::size_t row, Bytes bytes, const Call& call) const {
    auto offset = static_cast<off_t>(row * row_size_ * sizeof(float));
    while (!bytes.empty()) {
      const ssize_t done = call(bytes.data(), bytes.size(), offset);
      if (done < 0 && errno == EINTR) {
        continue;
      }
      check(done > 0);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      offset += done;
    }
  }

  void check(bool good) const {
    require<data_error>(good, "row_store: the temporary file in ", folder_.string(),
                        " cannot be used (", std::strerror(errno),
                        "); free disk space there, or set row_store::options::folder to another "
                        "folder or a larger memory_limit");
  }

  std::size_t row_size_;
  std::vector<float> values_;
  std::filesystem::path folder_;
  int file_ = -1;
};

}  // namespace glia
