#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"

namespace glia {

/// A picture and the colour of the frame around it.
struct framed_image {
  image picture;
  rgb frame{255, 255, 255};
};

/// How pictures are laid out side by side.
struct image_grid_options {
  std::size_t columns = 5;  ///< at least 1
  std::size_t border = 4;   ///< width of a frame, in pixels
  std::size_t gap = 8;      ///< between frames and around all of them, in pixels
  rgb background{255, 255, 255};
};

namespace detail {

/// Copies one picture into another, where it must have room.
inline void paste(const image& picture, image& into, std::size_t top, std::size_t left) {
  for (std::size_t y = 0; y < picture.height; ++y) {
    std::copy_n(picture.pixels.data() + y * picture.width * 3, picture.width * 3,
                into.pixels.data() + ((top + y) * into.width + left) * 3);
  }
}

}  // namespace detail

/// Pictures side by side in one, row after row, each in its frame: to look at predictions, framed
/// in one colour where they are right and in another where they are wrong. Cells are as large as
/// the largest picture; smaller ones stand at their upper left.
///
/// Throws `value_error` for no pictures or no columns, `shape_error` for one without pixels.
[[nodiscard]] inline image image_grid(std::span<const framed_image> cells,
                                      const image_grid_options& options = {}) {
  require<value_error>(!cells.empty() && options.columns > 0,
                       "image_grid: expected at least one picture and one column, got ",
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
  const std::size_t down = height + 2 * options.border + options.gap;
  const std::size_t right = width + 2 * options.border + options.gap;
  image result =
      filled_image(rows * down + options.gap, columns * right + options.gap, options.background);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const image& picture = cells[i].picture;
    const std::size_t top = options.gap + i / columns * down;
    const std::size_t left = options.gap + i % columns * right;
    detail::paste(filled_image(picture.height + 2 * options.border,
                               picture.width + 2 * options.border, cells[i].frame),
                  result, top, left);
    detail::paste(picture, result, top + options.border, left + options.border);
  }
  return result;
}

}  // namespace glia
