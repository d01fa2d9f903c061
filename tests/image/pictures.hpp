#pragma once

#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <glia/image/image.hpp>
#include <string>
#include <vector>

#include "messages.hpp"
#include "temporary_folder.hpp"

namespace test {

using byte_vector = std::vector<std::uint8_t>;

/// A picture that JPEG stores nearly as it is: colors that change slowly.
inline glia::image gradient(std::size_t height, std::size_t width) {
  glia::image picture = glia::filled_image(height, width, {0, 0, 90});
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      picture.pixels[(y * width + x) * 3] = static_cast<std::uint8_t>(255 * y / height);
      picture.pixels[(y * width + x) * 3 + 1] = static_cast<std::uint8_t>(255 * x / width);
    }
  }
  return picture;
}

/// A picture without any order, for what must be exact.
inline glia::image scrambled(std::size_t height, std::size_t width) {
  glia::image picture = glia::filled_image(height, width, {});
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        picture.pixels[(y * width + x) * 3 + c] =
            static_cast<std::uint8_t>((x * 37 + y * 59 + c * 83 + x * y * 11) % 256);
      }
    }
  }
  return picture;
}

/// The largest difference between values of two pictures; 256 when their extents differ.
inline int difference(const glia::image& a, const glia::image& b) {
  if (a.height != b.height || a.width != b.width || a.pixels.size() != b.pixels.size()) {
    return 256;
  }
  int worst = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    worst = std::max(worst, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return worst;
}

/// The bytes of a JPEG file. `format` says what `pixels` (H, W, ...) hold.
inline byte_vector jpeg_file(const byte_vector& pixels, std::size_t height, std::size_t width,
                             int format, int subsampling, int flags = 0) {
  tjhandle handle = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  tjCompress2(handle, pixels.data(), static_cast<int>(width), 0, static_cast<int>(height), format,
              &data, &size, subsampling, 98, flags);
  byte_vector file(data, data + size);
  tjFree(data);
  tjDestroy(handle);
  return file;
}

inline byte_vector jpeg_file(const glia::image& picture, int flags = 0) {
  return jpeg_file(picture.pixels, picture.height, picture.width, TJPF_RGB, TJSAMP_444, flags);
}

struct png_kind {
  int bit_depth = 8;
  int color_type = PNG_COLOR_TYPE_RGB;
  std::vector<png_color> palette = {};
  bool interlaced = false;
};

/// The bytes of a PNG file whose rows are these, as PNG stores them.
inline byte_vector png_file(std::size_t height, std::size_t width, const byte_vector& rows,
                            const png_kind& kind = {}) {
  byte_vector file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp writer, png_bytep data, std::size_t size) {
        auto& target = *static_cast<byte_vector*>(png_get_io_ptr(writer));
        target.insert(target.end(), data, data + size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               kind.bit_depth, kind.color_type,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty()) {
    png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
  }
  png_write_info(png, info);
  const std::size_t stride = png_get_rowbytes(png, info);
  byte_vector copy = rows;
  std::vector<png_bytep> starts;
  for (std::size_t y = 0; y < height; ++y) {
    starts.push_back(copy.data() + y * stride);
  }
  png_write_image(png, starts.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

inline byte_vector png_file(const glia::image& picture) {
  return png_file(picture.height, picture.width, picture.pixels);
}

inline void put_big_endian(byte_vector& file, std::size_t offset, std::size_t count,
                           std::size_t value) {
  for (std::size_t i = 0; i < count; ++i) {
    file[offset + i] = static_cast<std::uint8_t>(value >> (8 * (count - 1 - i)));
  }
}

/// The same file, but its header declares other extents.
inline byte_vector jpeg_declaring(byte_vector file, std::size_t height, std::size_t width) {
  const byte_vector frame{0xFF, 0xC0};
  const auto offset = static_cast<std::size_t>(
      std::search(file.begin(), file.end(), frame.begin(), frame.end()) - file.begin());
  put_big_endian(file, offset + 5, 2, height);
  put_big_endian(file, offset + 7, 2, width);
  return file;
}

inline byte_vector png_declaring(byte_vector file, std::size_t height, std::size_t width) {
  put_big_endian(file, 16, 4, width);
  put_big_endian(file, 20, 4, height);
  put_big_endian(file, 29, 4, crc32(0, file.data() + 12, 17));
  return file;
}

/// The file without its end.
inline byte_vector cut(const byte_vector& file, std::size_t size) {
  return {file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)};
}

inline byte_vector text_file(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace test
