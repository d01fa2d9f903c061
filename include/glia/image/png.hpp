#pragma once

#include <png.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/image/image.hpp"

namespace glia {

namespace detail {

class png_decoder {
 public:
  explicit png_decoder(std::span<const std::uint8_t> bytes) {
    control_.version = PNG_IMAGE_VERSION;
    judge(png_image_begin_read_from_memory(&control_, bytes.data(), bytes.size()));
    control_.format = PNG_FORMAT_RGB;
    // Else libpng would take the samples of 16-bit files without a colour space for linear light.
    control_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  }
  png_decoder(const png_decoder&) = delete;
  png_decoder& operator=(const png_decoder&) = delete;
  ~png_decoder() { png_image_free(&control_); }

  [[nodiscard]] std::size_t height() const { return control_.height; }
  [[nodiscard]] std::size_t width() const { return control_.width; }

  [[nodiscard]] image decode() {
    image result{height(), width(), std::vector<std::uint8_t>(height() * width() * 3)};
    const png_color background{255, 255, 255};
    judge(png_image_finish_read(&control_, &background, result.pixels.data(), 0, nullptr));
    return result;
  }

 private:
  void judge(int status) const {
    require<data_error>(status != 0, "expected a whole PNG image, but the data are damaged or cut ",
                        "short (", control_.message, "); fetch the file again or leave it out");
  }

  png_image control_{};
};

}  // namespace detail

/// Decodes a PNG image of any colour type and bit depth to 8 bits. What is transparent is blended
/// with white, in linear light as libpng does it; a gamma that the file states is converted to
/// sRGB's. Needs libpng: link `glia::image`.
///
/// Throws `data_error` for data that are damaged or cut short, and for an image of more than
/// `max_pixels`.
[[nodiscard]] inline image decode_png(std::span<const std::uint8_t> bytes,
                                      const decode_options& options = {}) {
  detail::png_decoder decoder(bytes);
  detail::require_allowed(decoder.height(), decoder.width(), options);
  return decoder.decode();
}

/// A picture as the bytes of an 8-bit RGB PNG file. Throws `shape_error` for one without pixels.
[[nodiscard]] inline std::string encode_png(const image& picture) {
  detail::require_picture("encode_png", picture);
  png_image control{};
  control.version = PNG_IMAGE_VERSION;
  control.height = static_cast<png_uint_32>(picture.height);
  control.width = static_cast<png_uint_32>(picture.width);
  control.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(control);
  std::string bytes(size, '\0');
  const int status = png_image_write_to_memory(&control, bytes.data(), &size, 0,
                                               picture.pixels.data(), 0, nullptr);
  require<data_error>(status != 0, "encode_png: libpng cannot encode the picture (",
                      control.message, ")");
  bytes.resize(size);
  return bytes;
}

/// Writes a picture as an 8-bit RGB PNG file, which is there whole or not at all.
///
/// Throws `shape_error` for a picture without pixels, `data_error`, naming the path, where the file
/// cannot be written.
inline void write_png(const std::filesystem::path& path, const image& picture) {
  detail::require_picture("write_png", picture);
  const std::string bytes = encode_png(picture);
  write_whole_file(path, [&](std::ostream& out) {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
}

}  // namespace glia
