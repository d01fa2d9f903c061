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

/// The image file formats that glia reads.
enum class image_format { jpeg, png };

/// The format and size of an image file, from its header.
struct image_info {
  image_format format = image_format::jpeg;  ///< JPEG or PNG.
  std::size_t height = 0;                    ///< Full height in pixels.
  std::size_t width = 0;                     ///< Full width in pixels.
};

namespace detail {

struct image_file_bytes {
  image_format format = image_format::jpeg;
  std::vector<std::uint8_t> bytes;
};

/// The number of bytes that identify an image's format.
inline constexpr std::size_t format_bytes = 8;

/// Returns the format that the first bytes of a file show, because the suffix of its name may be
/// wrong.
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
  std::ostringstream head_text;
  head_text << (head.empty() ? " no bytes" : "") << std::hex << std::uppercase << std::setfill('0');
  for (const std::uint8_t byte : head) {
    head_text << ' ' << std::setw(2) << static_cast<int>(byte);
  }
  throw data_error(
      text("expected a JPEG, which begins with the bytes FF D8 FF, or a PNG, which begins with "
           "89 50 4E 47 0D 0A 1A 0A; got",
           head_text.str(), "; convert the file or leave it out"));
}

[[nodiscard]] inline image_file_bytes load_image_file(const std::filesystem::path& path) {
  std::error_code failure;
  require<data_error>(std::filesystem::is_regular_file(path, failure), "no such file");
  const auto size = static_cast<std::size_t>(std::filesystem::file_size(path, failure));
  std::ifstream input(path, std::ios::binary);
  require<data_error>(!failure && input.is_open(), "the file cannot be opened for reading");
  require<data_error>(
      size > 0,
      "expected a JPEG or PNG image, got an empty file; get the file again or leave "
      "it out");
  image_file_bytes file;
  const auto read = [&](std::size_t first, std::size_t last) {
    file.bytes.resize(last);
    input.read(reinterpret_cast<char*>(file.bytes.data() + first),
               static_cast<std::streamsize>(last - first));
    require<data_error>(static_cast<std::size_t>(input.gcount()) == last - first,
                        "reading the file failed before byte ", last, " of ", size);
  };
  // The format is checked before a large file is read into memory.
  const std::size_t head = std::min(size, format_bytes);
  read(0, head);
  file.format = format_of(file.bytes);
  read(head, size);
  return file;
}

/// Calls `call`, which reads the file, and returns its result. Adds the file's name to its errors.
template <class Call>
auto naming_file(const std::filesystem::path& path, const Call& call) {
  require_no_folder(path);
  return naming(path.string(), call);
}

}  // namespace detail

/// Decodes a JPEG or PNG image from memory to 8-bit RGB. The format is recognized by the first
/// bytes. See `decode_jpeg` and `decode_png` for details.
///
/// Throws `data_error` if the bytes are damaged, truncated or not a JPEG or PNG image, or if the
/// image has more than `max_pixels` pixels.
[[nodiscard]] inline image decode_image(std::span<const std::uint8_t> bytes,
                                        const decode_options& options = {}) {
  const auto head = bytes.first(std::min(bytes.size(), detail::format_bytes));
  return detail::format_of(head) == image_format::jpeg ? decode_jpeg(bytes, options)
                                                       : decode_png(bytes, options);
}

/// Reads a JPEG or PNG file as an image with 8-bit RGB. The format is recognized by the first bytes
/// of the file, not by its name. See `decode_jpeg` and `decode_png` for details.
///
///     const glia::image photo = glia::read_image("rose.jpg");
///
/// Throws `data_error`, with the name of the file, if the file is missing, empty, damaged,
/// truncated or not a JPEG or PNG image. Throws `data_error`, too, if the image has more than
/// `max_pixels` pixels, or if there is not enough memory.
[[nodiscard]] inline image read_image(const std::filesystem::path& path,
                                      const decode_options& options = {}) {
  return detail::naming_file(
      path, [&] { return decode_image(detail::load_image_file(path).bytes, options); });
}

/// Reads the format and the size of a JPEG or PNG file without decoding its pixels. Damaged pixels
/// are not detected.
///
/// Throws `data_error`, with the name of the file, if the file is missing, empty or not a JPEG or
/// PNG image, or if its header is damaged.
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
