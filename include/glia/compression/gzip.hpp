#pragma once

#include <zlib.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/data/file_reader.hpp"

namespace glia {

/// The reader of files that may be compressed with gzip. It recognizes compressed files by their
/// contents and reads other files unchanged.
///
/// Pass it to `load_mnist`, `read_idx` or `tfrecord_reader`. Functions that search for a file by
/// its name, such as `load_mnist`, then also try the name with `.gz`. Needs the library zlib: link
/// `glia::compression`.
///
///     const auto sets = glia::load_mnist("data/mnist", glia::gzip_files{});
///
/// Throws `data_error` if a file cannot be opened or is a folder, or if compressed data are damaged
/// or truncated.
struct gzip_files {
  /// An open file, decompressed while it is read.
  class source {
   public:
    explicit source(const std::filesystem::path& path)
        : path_(path), file_(open_path(path.c_str()), &gzclose) {
      detail::require_no_folder(path);
      require<data_error>(file_ != nullptr, path.string(),
                          ": the file cannot be opened for reading");
      // zlib allocates three times the size of its buffer, even for a small file.
      constexpr std::uintmax_t min_buffer = 8192;
      constexpr std::uintmax_t max_buffer = 262144;
      std::error_code unknown;
      const std::uintmax_t size = std::filesystem::file_size(path, unknown);
      gzbuffer(file_.get(), static_cast<unsigned>(
                                unknown ? max_buffer : std::clamp(size, min_buffer, max_buffer)));
    }

    [[nodiscard]] std::size_t read(std::span<std::uint8_t> buffer) {
      std::size_t done = 0;
      while (done < buffer.size()) {
        const auto requested = static_cast<unsigned>(
            std::min<std::size_t>(buffer.size() - done, std::numeric_limits<int>::max()));
        const int count = gzread(file_.get(), buffer.data() + done, requested);
        int code = Z_OK;
        const char* reason = gzerror(file_.get(), &code);
        require<data_error>(count >= 0 && (code == Z_OK || code == Z_STREAM_END), path_.string(),
                            ": the compressed data are damaged or truncated (", reason, ")");
        if (count == 0) {
          break;
        }
        done += static_cast<std::size_t>(count);
      }
      return done;
    }

   private:
    /// Opens a file whose path consists of the system's characters, which may be wide.
    template <class Character>
    [[nodiscard]] static gzFile open_path(const Character* path) {
      if constexpr (std::same_as<Character, char>) {
        return gzopen(path, "rb");
      } else {
        return gzopen_w(path, "rb");
      }
    }

    std::filesystem::path path_;
    std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  };

  [[nodiscard]] std::span<const std::string_view> suffixes() const {
    static constexpr std::string_view endings[] = {"", ".gz"};
    return endings;
  }
  [[nodiscard]] source open(const std::filesystem::path& path) const { return source(path); }
};

static_assert(file_reader<gzip_files>);

}  // namespace glia
