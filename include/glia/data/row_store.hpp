#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/platform/file.hpp"

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
    constexpr std::size_t max_bytes = std::numeric_limits<std::ptrdiff_t>::max();
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
  /// Whether the rows are in memory and not in a file.
  [[nodiscard]] bool in_memory() const { return !file_; }

  /// Writes one or several rows, beginning with row number `row`.
  void write(std::size_t row, std::span<const float> values) {
    if (in_memory()) {
      std::copy(values.begin(), values.end(), values_.data() + row * row_size_);
      return;
    }
    std::error_code failure;
    file_.write_at(position(row), std::as_bytes(values), failure);
    check(failure);
  }
  /// Reads one or several rows, beginning with row number `row`.
  void read(std::size_t row, std::span<float> values) const {
    if (in_memory()) {
      std::copy_n(values_.data() + row * row_size_, values.size(), values.data());
      return;
    }
    std::error_code failure;
    file_.read_at(position(row), std::as_writable_bytes(values), failure);
    check(failure);
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
    std::error_code failure;
    file_ = platform::file::temporary(folder_, failure);
    check(failure);
    // Allocate the disk space now, so that a full disk is found before the work and not after it.
    file_.reserve(bytes, failure);
    check(failure);
  }

  [[nodiscard]] std::uint64_t position(std::size_t row) const {
    return std::uint64_t{row} * row_size_ * sizeof(float);
  }

  void check(std::error_code failure) const {
    require<data_error>(!failure, "row_store: the temporary file in ", folder_.string(),
                        " cannot be used (", failure.message(),
                        "); free disk space there, or set row_store::options::folder to another "
                        "folder or a larger memory_limit");
  }

  std::size_t row_size_;
  std::vector<float> values_;
  std::filesystem::path folder_;
  platform::file file_;
};

}  // namespace glia
