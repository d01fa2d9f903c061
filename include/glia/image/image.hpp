#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// A picture of 8-bit red, green and blue, row by row from the top.
struct image {
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::uint8_t> pixels;  ///< (H, W, 3)

  friend bool operator==(const image&, const image&) = default;
};

/// Red, green, blue.
using rgb = std::array<std::uint8_t, 3>;

/// A picture of one colour.
[[nodiscard]] inline image filled_image(std::size_t height, std::size_t width, const rgb& colour) {
  image result{height, width, std::vector<std::uint8_t>(height * width * 3)};
  for (std::size_t i = 0; i < result.pixels.size(); ++i) {
    result.pixels[i] = colour[i % 3];
  }
  return result;
}

/// How an image file is decoded.
struct decode_options {
  /// Files that declare more pixels than this are refused before any memory is taken for them.
  std::size_t max_pixels = 100'000'000;
  /// JPEG only: the extents that are needed at least, in pixels. A larger picture is decoded at the
  /// smallest of the codec's scales (eighths) that gives both, which saves most of the work where
  /// it is to be shrunk anyway. 0: at full size; 1: at the smallest scale there is.
  std::size_t min_height = 0;
  std::size_t min_width = 0;
};

namespace detail {

inline void require_picture(std::string_view what, const image& picture) {
  // Compared by division, as a product could overflow.
  const std::size_t size = picture.pixels.size();
  const bool whole = picture.height > 0 && picture.width > 0 && size % 3 == 0 &&
                     size / 3 % picture.width == 0 && size / 3 / picture.width == picture.height;
  require<shape_error>(whole, what, ": expected a picture (H, W, 3) of at least one pixel, got ",
                       picture.pixels.size(), " bytes for height ", picture.height, " and width ",
                       picture.width);
}

inline void require_allowed(std::size_t height, std::size_t width, const decode_options& options) {
  require<data_error>(
      height <= options.max_pixels / width, "the header declares ", height, " x ", width,
      " pixels (height x width), more than the ", options.max_pixels,
      " that are allowed; raise max_pixels if the file is to be trusted, or leave it out");
}

}  // namespace detail

}  // namespace glia
