#pragma once

#include <vector>

#include "image/pictures.hpp"

namespace test::samples {

[[nodiscard]] inline std::vector<byte_vector> png() {
  const glia::image picture = scrambled(5, 8);
  const std::vector<png_color> palette{{10, 20, 30}, {40, 50, 60}, {70, 80, 90}};
  return {png_file(picture),
          png_file(5, 8, picture.pixels, {.interlaced = true}),
          png_file(2, 3, {0b00100100, 0b00011000}, {2, PNG_COLOR_TYPE_PALETTE, palette}),
          png_file(1, 2, {0x2F}, {4, PNG_COLOR_TYPE_GRAY}),
          png_file(1, 1, {0, 0, 0x80, 0x80, 0xFF, 0xFF}, {.bit_depth = 16}),
          png_file(1, 2, {9, 8, 7, 255, 9, 8, 7, 0}, {.color_type = PNG_COLOR_TYPE_RGB_ALPHA}),
          png_file(1, 2, {9, 255, 9, 0}, {.color_type = PNG_COLOR_TYPE_GRAY_ALPHA})};
}

[[nodiscard]] inline std::vector<byte_vector> jpeg() {
  const glia::image picture = gradient(12, 17);
  const byte_vector inks(8 * 8 * 4, 99);
  return {jpeg_file(picture), jpeg_file(picture, TJFLAG_PROGRESSIVE),
          jpeg_file(picture.pixels, 12, 17, TJPF_RGB, TJSAMP_GRAY),
          jpeg_file(picture.pixels, 12, 17, TJPF_RGB, TJSAMP_420),
          jpeg_file(inks, 8, 8, TJPF_CMYK, TJSAMP_444)};
}

}  // namespace test::samples
