#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// An image with 8 bits each of red, green and blue.
struct image {
  std::size_t height = 0;            ///< In pixels.
  std::size_t width = 0;             ///< In pixels.
  std::vector<std::uint8_t> pixels;  ///< Pixels of shape (H, W, 3), row by row from the top.

  friend bool operator==(const image&, const image&) = default;
};

/// A color: red, green, blue.
using rgb = std::array<std::uint8_t, 3>;

/// Returns an image of one color.
[[nodiscard]] inline image filled_image(std::size_t height, std::size_t width, const rgb& color) {
  image result{height, width, std::vector<std::uint8_t>(height * width * 3)};
  for (std::size_t i = 0; i < result.pixels.size(); ++i) {
    result.pixels[i] = color[i % 3];
  }
  return result;
}

/// Options of `read_image`, `decode_image`, `decode_jpeg` and `decode_png`.
struct decode_options {
  /// The largest image accepted, in pixels (height x width). For a larger image, decoding throws
  /// before it allocates memory.
  std::size_t max_pixels = 100'000'000;
  /// The height that you need, in pixels; used for JPEG only. A larger image is decoded at a
  /// reduced size, in eighths of the full size: the smallest one with at least `min_height` rows
  /// and `min_width` columns. This saves most of the work if you shrink the image afterwards. 0:
  /// full size; 1: the smallest size.
  std::size_t min_height = 0;
  std::size_t min_width = 0;  ///< The width that you need, in pixels; see `min_height`.
};

namespace detail {

inline void require_picture(std::string_view caller, const image& picture) {
  // Divides, because a product could overflow.
  const std::size_t size = picture.pixels.size();
  const bool whole = picture.height > 0 && picture.width > 0 && size % 3 == 0 &&
                     size / 3 % picture.width == 0 && size / 3 / picture.width == picture.height;
  require<shape_error>(whole, caller, ": expected an image (H, W, 3) of one or more pixels, got ",
                       picture.pixels.size(), " bytes for the height ", picture.height,
                       " and the width ", picture.width);
}

inline void require_allowed(std::size_t height, std::size_t width, const decode_options& options) {
  require<data_error>(
      height <= options.max_pixels / width, "the header declares ", height, " x ", width,
      " pixels (height x width), more than the ", options.max_pixels,
      " that are allowed; if you trust the file, raise max_pixels, or leave the file out");
}

}  // namespace detail

}  // namespace glia
