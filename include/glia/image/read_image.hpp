#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/image/image.hpp"
#include "glia/image/jpeg.hpp"
#include "glia/image/png.hpp"

namespace glia {

/// The formats of pictures that are read.
enum class image_format { jpeg, png };

/// What an image file declares of itself.
struct image_info {
  image_format format = image_format::jpeg;
  std::size_t height = 0;  ///< in pixels, at full size
  std::size_t width = 0;
};

namespace detail {

struct image_file_bytes {
  image_format format = image_format::jpeg;
  std::vector<std::uint8_t> bytes;
};

/// How many bytes show an image's format.
inline constexpr std::size_t format_bytes = 8;

/// The format that the first bytes show; the name of a file may be wrong.
[[nodiscard]] inline image_format format_of(std::span<const std::uint8_t> head) {
  static constexpr std::array<std::uint8_t, 3> jpeg{0xFF, 0xD8, 0xFF};
  static constexpr std::array<std::uint8_t, 8> png{0x89, 'P', 'N', 'G', 0x0D, 0x0A, 0x1A, 0x0A};
  const auto begins_with = [&](std::span<const std::uint8_t> magic) {
    return head.size() >= magic.size() && std::equal(magic.begin(), magic.end(), head.begin());
  };
  if (begins_with(jpeg)) {
    return image_format::jpeg;
  }
  if (begins_with(png)) {
    return image_format::png;
  }
  std::ostringstream got;
  got << (head.empty() ? " no bytes" : "") << std::hex << std::uppercase << std::setfill('0');
  for (const std::uint8_t byte : head) {
    got << ' ' << std::setw(2) << static_cast<int>(byte);
  }
  throw data_error(
      text("no image that glia reads: expected a JPEG, which begins with the bytes "
           "FF D8 FF, or a PNG, 89 50 4E 47 0D 0A 1A 0A; got",
           got.str(), "; convert the file or leave it out"));
}

[[nodiscard]] inline image_file_bytes load_image_file(const std::filesystem::path& path) {
  std::error_code failure;
  require<data_error>(std::filesystem::is_regular_file(path, failure), "no such file");
  const auto size = static_cast<std::size_t>(std::filesystem::file_size(path, failure));
  std::ifstream in(path, std::ios::binary);
  require<data_error>(!failure && in.is_open(), "cannot be opened for reading");
  require<data_error>(size > 0, "empty; expected a JPEG or PNG image; fetch the file again or ",
                      "leave it out");
  image_file_bytes file;
  const auto read = [&](std::size_t first, std::size_t last) {
    file.bytes.resize(last);
    in.read(reinterpret_cast<char*>(file.bytes.data() + first),
            static_cast<std::streamsize>(last - first));
    require<data_error>(static_cast<std::size_t>(in.gcount()) == last - first,
                        "reading failed before byte ", last, " of ", size);
  };
  // A large file that is no image is found out before it is in memory.
  const std::size_t head = std::min(size, format_bytes);
  read(0, head);
  file.format = format_of(file.bytes);
  read(head, size);
  return file;
}

/// What `call` returns, which reads the file; what it throws gets the file's name put in front.
template <class Call>
auto naming_file(const std::filesystem::path& path, const Call& call) {
  require_no_folder(path);
  return naming(path.string(), call);
}

}  // namespace detail

/// Decodes a JPEG or PNG image, whichever its first bytes show, to 8-bit RGB: see `decode_jpeg` and
/// `decode_png`.
///
/// Throws `data_error` for bytes that are no such image, damaged or cut short, and for an image of
/// more than `max_pixels`.
[[nodiscard]] inline image decode_image(std::span<const std::uint8_t> bytes,
                                        const decode_options& options = {}) {
  const auto head = bytes.first(std::min(bytes.size(), detail::format_bytes));
  return detail::format_of(head) == image_format::jpeg ? decode_jpeg(bytes, options)
                                                       : decode_png(bytes, options);
}

/// Reads a JPEG or PNG file, whichever its first bytes show, as 8-bit RGB: see `decode_jpeg` and
/// `decode_png`.
///
///     const glia::image photo = glia::read_image("rose.jpg");
///
/// Throws `data_error`, naming the file, for one that is missing, empty, no such image, damaged or
/// cut short, declares more than `max_pixels` or takes more memory than can be had.
[[nodiscard]] inline image read_image(const std::filesystem::path& path,
                                      const decode_options& options = {}) {
  return detail::naming_file(
      path, [&] { return decode_image(detail::load_image_file(path).bytes, options); });
}

/// Reads an image file's format and extents without decoding its pixels, which may be damaged.
///
/// Throws `data_error`, naming the file, for one that is missing, empty or no such image, or whose
/// header is damaged.
[[nodiscard]] inline image_info read_image_info(const std::filesystem::path& path) {
  return detail::naming_file(path, [&] {
    const detail::image_file_bytes file = detail::load_image_file(path);
    if (file.format == image_format::jpeg) {
      const detail::jpeg_decoder decoder(file.bytes);
      return image_info{file.format, decoder.height(), decoder.width()};
    }
    const detail::png_decoder decoder(file.bytes);
    return image_info{file.format, decoder.height(), decoder.width()};
  });
}

}  // namespace glia
