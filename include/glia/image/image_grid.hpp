#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"

namespace glia {

/// An image and the color of the frame around it.
struct framed_image {
  image picture;             ///< The image.
  rgb frame{255, 255, 255};  ///< Color of the frame; white by default.
};

/// Options of `image_grid`.
struct image_grid_options {
  std::size_t columns = 5;  ///< Largest number of columns, at least 1.
  std::size_t border = 4;   ///< Width of the frames in pixels.
  std::size_t gap = 8;  ///< Distance of a frame from other frames and from the edges, in pixels.
  rgb background{255, 255, 255};  ///< Color between the frames; white by default.
};

namespace detail {

/// Copies an image into a larger one.
inline void paste(const image& picture, image& destination, std::size_t top, std::size_t left) {
  for (std::size_t y = 0; y < picture.height; ++y) {
    std::copy_n(picture.pixels.data() + y * picture.width * 3, picture.width * 3,
                destination.pixels.data() + ((top + y) * destination.width + left) * 3);
  }
}

}  // namespace detail

/// Arranges framed images in a grid, row by row, and returns the grid as one image. Use it to look
/// at predictions, for instance with green frames around right ones and red frames around wrong
/// ones.
///
/// All cells have the size of the largest image. Smaller images are at the upper left of their
/// cells.
///
/// Throws `value_error` if there are no images or no columns, and `shape_error` for an image
/// without pixels.
[[nodiscard]] inline image image_grid(std::span<const framed_image> cells,
                                      const image_grid_options& options = {}) {
  require<value_error>(!cells.empty() && options.columns > 0,
                       "image_grid: expected one or more images and one or more columns, got ",
                       cells.size(), " and ", options.columns);
  std::size_t height = 0;
  std::size_t width = 0;
  for (const framed_image& cell : cells) {
    detail::require_picture("image_grid", cell.picture);
    height = std::max(height, cell.picture.height);
    width = std::max(width, cell.picture.width);
  }
  const std::size_t columns = std::min(options.columns, cells.size());
  const std::size_t rows = (cells.size() + columns - 1) / columns;
  const std::size_t row_step = height + 2 * options.border + options.gap;
  const std::size_t column_step = width + 2 * options.border + options.gap;
  image result = filled_image(rows * row_step + options.gap, columns * column_step + options.gap,
                              options.background);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const image& picture = cells[i].picture;
    const std::size_t top = options.gap + i / columns * row_step;
    const std::size_t left = options.gap + i % columns * column_step;
    detail::paste(filled_image(picture.height + 2 * options.border,
                               picture.width + 2 * options.border, cells[i].frame),
                  result, top, left);
    detail::paste(picture, result, top + options.border, left + options.border);
  }
  return result;
}

}  // namespace glia
