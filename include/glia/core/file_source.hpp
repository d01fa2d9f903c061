#pragma once

#include <concepts>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <memory>
#include <ranges>
#include <span>
#include <streambuf>
#include <string>
#include <type_traits>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"

namespace glia {

/// A file that a function reads: a path, or the bytes of the file in memory.
///
///     glia::load(net, "net.safetensors");
///     glia::load(net, digits_model);  // std::span<const std::byte>
///
/// Both convert to this type. Bytes are not copied: they must exist while the function runs.
class file_source {
 public:
  template <std::convertible_to<std::filesystem::path> Path>
  file_source(Path path) : path_(std::move(path)), name_(path_.string()) {}

  /// Takes the bytes of a file, such as std::span<const std::byte> or std::vector<unsigned char>,
  /// and a name for error messages. Texts and arrays of `char` are paths: wrap the bytes in them
  /// in std::span<const char>.
  template <std::ranges::contiguous_range Bytes>
  requires(!std::convertible_to<Bytes, std::filesystem::path> && std::ranges::sized_range<Bytes> &&
           sizeof(std::ranges::range_value_t<Bytes>) == 1)
      file_source(const Bytes& bytes, std::string name = "bytes in memory")
      : name_(std::move(name)),
        is_memory_(true),
        bytes_(std::as_bytes(std::span(std::ranges::data(bytes), std::ranges::size(bytes)))) {}

  /// Returns whether the file is in memory.
  [[nodiscard]] bool is_memory() const noexcept { return is_memory_; }
  /// Returns the path. It is empty for bytes in memory.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Returns the bytes in memory.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Returns the name for error messages: the path, or the name of the bytes.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Opens the file for reading. Throws `data_error`, with the path, if it cannot be opened.
  [[nodiscard]] std::unique_ptr<std::istream> open() const {
    if (is_memory_) {
      return std::make_unique<memory_stream>(bytes_);
    }
    detail::require_no_folder(path_);
    auto file = std::make_unique<std::ifstream>(path_, std::ios::binary);
    require<data_error>(file->is_open(), name_, ": the file cannot be opened for reading");
    return file;
  }

 private:
  /// Reads bytes in memory. Its position can be set, as in a file.
  class memory_buffer : public std::streambuf {
   public:
    explicit memory_buffer(std::span<const std::byte> bytes) {
      // A buffer that only reads does not change its characters.
      char* const first = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
      setg(first, first, first + bytes.size());
    }

   protected:
    pos_type seekoff(off_type offset, std::ios_base::seekdir direction,
                     std::ios_base::openmode mode) override {
      const off_type size = egptr() - eback();
      const off_type start = direction == std::ios_base::beg   ? 0
                             : direction == std::ios_base::cur ? gptr() - eback()
                                                               : size;
      if ((mode & std::ios_base::in) == 0 || offset < -start || offset > size - start) {
        return pos_type(off_type(-1));
      }
      setg(eback(), eback() + start + offset, egptr());
      return pos_type(start + offset);
    }
    pos_type seekpos(pos_type position, std::ios_base::openmode mode) override {
      return seekoff(off_type(position), std::ios_base::beg, mode);
    }
  };

  class memory_stream : private memory_buffer, public std::istream {
   public:
    explicit memory_stream(std::span<const std::byte> bytes)
        : memory_buffer(bytes), std::istream(static_cast<memory_buffer*>(this)) {}
  };

  std::filesystem::path path_;
  std::string name_;
  bool is_memory_ = false;
  std::span<const std::byte> bytes_;
};

}  // namespace glia
