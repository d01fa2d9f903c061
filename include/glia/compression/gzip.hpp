#pragma once

#include <zlib.h>

#include <algorithm>
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

/// Reads files plain or compressed with gzip, whichever they are. Needs zlib: link
/// `glia::compression`. Throws `data_error` for a file that cannot be opened or is a folder, and
/// for compressed data that are damaged or cut short.
struct gzip_files {
  /// One file, decompressed as it is read.
  class source {
   public:
    explicit source(const std::filesystem::path& path)
        : path_(path), file_(gzopen(path.c_str(), "rb"), &gzclose) {
      detail::require_no_folder(path);
      require<data_error>(file_ != nullptr, path.string(), ": cannot be opened for reading");
      // zlib takes three times as much, also for the smallest file.
      constexpr std::uintmax_t least = 8192;
      constexpr std::uintmax_t most = 262144;
      std::error_code unknown;
      const std::uintmax_t size = std::filesystem::file_size(path, unknown);
      gzbuffer(file_.get(), static_cast<unsigned>(unknown ? most : std::clamp(size, least, most)));
    }

    [[nodiscard]] std::size_t read(std::span<std::uint8_t> buffer) {
      std::size_t done = 0;
      while (done < buffer.size()) {
        const auto wanted = static_cast<unsigned>(
            std::min<std::size_t>(buffer.size() - done, std::numeric_limits<int>::max()));
        const int got = gzread(file_.get(), buffer.data() + done, wanted);
        int code = Z_OK;
        const char* reason = gzerror(file_.get(), &code);
        require<data_error>(got >= 0 && (code == Z_OK || code == Z_STREAM_END), path_.string(),
                            ": the compressed data are damaged or cut short (", reason, ")");
        if (got == 0) {
          break;
        }
        done += static_cast<std::size_t>(got);
      }
      return done;
    }

   private:
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
