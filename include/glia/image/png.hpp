#pragma once

#include <png.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/image/image.hpp"

namespace glia {

namespace detail {

/// The chunks of a PNG file that a decoder reads.
enum class png_chunks {
  colors,  ///< All chunks, to convert colors to sRGB.
  values,  ///< Only the pixels and the palette, to get the stored values, without conversion.
};

class png_decoder {
 public:
  explicit png_decoder(std::span<const std::uint8_t> bytes, png_chunks chunks = png_chunks::colors)
      : bytes_(for_libpng(bytes, chunks)) {
    control_.version = PNG_IMAGE_VERSION;
    judge(png_image_begin_read_from_memory(&control_, bytes_.data(), bytes_.size()));
    control_.format = PNG_FORMAT_RGB;
    // Otherwise, libpng would assume linear light for 16-bit files without a color space.
    control_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  }
  png_decoder(const png_decoder&) = delete;
  png_decoder& operator=(const png_decoder&) = delete;
  ~png_decoder() { png_image_free(&control_); }

  [[nodiscard]] std::size_t height() const { return control_.height; }
  [[nodiscard]] std::size_t width() const { return control_.width; }

  /// The number of bits of a stored value.
  [[nodiscard]] int bit_depth() const { return bytes_[24]; }
  /// Whether pixels are stored as indices of a palette.
  [[nodiscard]] bool is_indexed() const { return bytes_[25] == PNG_COLOR_TYPE_PALETTE; }

  [[nodiscard]] image decode() {
    require_enough_bytes();
    image result{height(), width(), std::vector<std::uint8_t>(height() * width() * 3)};
    const png_color background{255, 255, 255};
    judge(png_image_finish_read(&control_, &background, result.pixels.data(), 0, nullptr));
    return result;
  }

  /// Decodes the pixels as red, green, blue and alpha (H, W, 4), and does not blend them.
  [[nodiscard]] std::vector<std::uint8_t> decode_rgba() {
    require_enough_bytes();
    control_.format = PNG_FORMAT_RGBA;
    std::vector<std::uint8_t> result(height() * width() * 4);
    judge(png_image_finish_read(&control_, nullptr, result.data(), 0, nullptr));
    return result;
  }

  /// Decodes the indices (H, W) of an image with a palette.
  [[nodiscard]] std::vector<std::uint8_t> decode_indices() {
    require_enough_bytes();
    control_.format = PNG_FORMAT_RGB_COLORMAP;
    std::vector<std::uint8_t> result(height() * width());
    std::array<std::uint8_t, std::size_t{256} * 3> colors{};
    judge(png_image_finish_read(&control_, nullptr, result.data(), 0, colors.data()));
    return result;
  }

 private:
  void judge(int status) const {
    require<data_error>(status != 0,
                        "expected a complete PNG image, but the data are damaged or truncated (",
                        control_.message, "); get the file again or leave it out");
  }

  /// Returns the bytes for libpng, without compressed texts and unused chunks. libpng allocates the
  /// declared size of a chunk before it checks that the file has as many bytes, so the sizes are
  /// checked here. libpng would also unpack compressed texts, which nobody needs, to a thousand
  /// times their size.
  [[nodiscard]] std::span<const std::uint8_t> for_libpng(std::span<const std::uint8_t> bytes,
                                                         png_chunks chunks) {
    constexpr std::size_t head = 8;       // length (big-endian) and kind of a chunk
    constexpr std::size_t overhead = 12;  // length, kind and checksum
    std::size_t done = 0;
    const auto keep = [&](std::size_t end) {
      stripped_.insert(stripped_.end(), bytes.data() + done, bytes.data() + end);
    };
    for (std::size_t offset = 8; offset + head <= bytes.size();) {
      std::size_t length = 0;
      for (const std::uint8_t byte : bytes.subspan(offset, 4)) {
        length = length << 8 | byte;
      }
      const std::string_view kind(reinterpret_cast<const char*>(bytes.data()) + offset + 4, 4);
      if (kind == "IDAT") {
        break;
      }
      require<data_error>(offset > 8 || kind == "IHDR",
                          "expected a PNG image, but it does not begin with a header; get the file "
                          "again or leave it out");
      require<data_error>(length + overhead <= bytes.size() - offset,
                          "expected a complete PNG image, but the data are damaged or truncated (a "
                          "chunk of ",
                          length, " bytes begins at byte ", offset, " of ", bytes.size(),
                          "); get the file again or leave it out");
      const std::size_t next = offset + overhead + length;
      if (chunks == png_chunks::values ? kind != "IHDR" && kind != "PLTE"
                                       : kind == "zTXt" || kind == "iTXt") {
        keep(offset);
        done = next;
      }
      offset = next;
    }
    if (done == 0) {
      return bytes;
    }
    keep(bytes.size());
    return stripped_;
  }

  /// Throws `data_error` if the header declares more pixels than the file can hold, before memory
  /// is allocated. Deflate compresses at most 1032 bytes into one: 258 bytes into two bits.
  void require_enough_bytes() const {
    // The header has the number of bits per sample and the color type. The color types 0, 2, 3, 4
    // and 6 have 1, 3, 1, 2 and 4 samples per pixel.
    constexpr std::array<std::size_t, 7> samples{1, 0, 3, 1, 2, 0, 4};
    const std::size_t bits = bytes_[24] * samples[bytes_[25]];
    require<data_error>(height() * width() <= bytes_.size() * 1032 * 8 / bits,
                        "expected a complete PNG image, but the data are damaged or truncated (the "
                        "header declares ",
                        height(), " x ", width(), " pixels, more than ", bytes_.size(),
                        " bytes can hold); get the file again or leave it out");
  }

  std::vector<std::uint8_t> stripped_;  // the file without some chunks, if it has any
  std::span<const std::uint8_t> bytes_;
  png_image control_{};
};

}  // namespace detail

/// Decodes a PNG image of any color type and bit depth to 8-bit RGB.
///
/// Transparent pixels are blended with white, in linear light, as libpng does it. If the file has a
/// gamma value, colors are converted to sRGB. Needs the library libpng: link `glia::image`.
///
/// Throws `data_error` if the data are damaged or truncated, or if the image has more than
/// `max_pixels` pixels.
[[nodiscard]] inline image decode_png(std::span<const std::uint8_t> bytes,
                                      const decode_options& options = {}) {
  detail::png_decoder decoder(bytes);
  detail::require_allowed(decoder.height(), decoder.width(), options);
  return decoder.decode();
}

/// Returns an image as the bytes of an 8-bit RGB PNG file. Throws `shape_error` for an image
/// without pixels.
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
  require<data_error>(status != 0, "encode_png: libpng cannot encode the image (", control.message,
                      ")");
  bytes.resize(size);
  return bytes;
}

/// Writes an image as an 8-bit RGB PNG file. The file replaces an existing one only after it is
/// complete. Needs the library libpng: link `glia::image`.
///
/// Throws `shape_error` for an image without pixels, and `data_error`, with the path, if the file
/// cannot be written.
inline void write_png(const std::filesystem::path& path, const image& picture) {
  detail::require_picture("write_png", picture);
  const std::string bytes = encode_png(picture);
  write_whole_file(path, [&](std::ostream& out) {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
}

}  // namespace glia
