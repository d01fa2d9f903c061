#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string_view>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"

namespace glia {

/// A file that is read from beginning to end. `read(buffer)` reads the next bytes into the buffer
/// and returns their number. It fills the whole buffer unless the file ends before.
template <class S>
concept byte_source = requires(S& s, std::span<std::uint8_t> buffer) {
  { s.read(buffer) } -> std::convertible_to<std::size_t>;
};

/// A type that opens files, possibly compressed ones. `suffixes()` returns suffixes such as `.gz`:
/// to find a file, glia appends them to its name and tries them in this order. `open(path)` returns
/// a `byte_source`.
template <class R>
concept file_reader = requires(const R& r, const std::filesystem::path& path) {
  { r.suffixes() } -> std::convertible_to<std::span<const std::string_view>>;
  { r.open(path) } -> byte_source;
};

/// The reader of uncompressed files. Throws `data_error` if a file cannot be opened or is a folder.
struct plain_files {
  /// An open file.
  class source {
   public:
    explicit source(const std::filesystem::path& path)
        : path_(path), stream_(path, std::ios::binary) {
      detail::require_no_folder(path);
      require<data_error>(stream_.is_open(), path.string(),
                          ": the file cannot be opened for reading");
    }
    [[nodiscard]] std::size_t read(std::span<std::uint8_t> buffer) {
      stream_.read(reinterpret_cast<char*>(buffer.data()),
                   static_cast<std::streamsize>(buffer.size()));
      require<data_error>(!stream_.bad(), path_.string(), ": reading the file failed");
      return static_cast<std::size_t>(stream_.gcount());
    }

   private:
    std::filesystem::path path_;
    std::ifstream stream_;
  };

  [[nodiscard]] std::span<const std::string_view> suffixes() const {
    static constexpr std::string_view endings[] = {""};
    return endings;
  }
  [[nodiscard]] source open(const std::filesystem::path& path) const { return source(path); }
};

}  // namespace glia
