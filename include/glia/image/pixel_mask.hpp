#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "glia/image/augment.hpp"
#include "glia/image/image_fit.hpp"
#include "glia/image/resize.hpp"

namespace glia::detail {

/// A segmentation mask: a value for each pixel of an image. Values are never mixed: each value of a
/// changed mask is the nearest value of the original mask.
struct pixel_mask {
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::uint8_t> values;  ///< Values (H, W), row by row from the top.
};

/// Resizes a mask as `fitted` resizes the image of the same size.
[[nodiscard]] inline pixel_mask fitted(const pixel_mask& mask, std::size_t height,
                                       std::size_t width, image_fit fit) {
  const auto [high, wide] = fit == image_fit::stretch
                                ? std::array{height, width}
                                : covering_size(mask.height, mask.width, height, width);
  // The pixels of the source that are nearest to the centers of the pixels of the result.
  const auto nearest = [](std::size_t source_size, std::size_t scaled_size, std::size_t size) {
    std::vector<std::size_t> result(size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t position = (scaled_size - size) / 2 + i;
      result[i] = (2 * position + 1) * source_size / (2 * scaled_size);
    }
    return result;
  };
  const std::vector<std::size_t> rows = nearest(mask.height, high, height);
  const std::vector<std::size_t> columns = nearest(mask.width, wide, width);
  pixel_mask result{height, width, {}};
  result.values.reserve(height * width);
  for (const std::size_t row : rows) {
    for (const std::size_t column : columns) {
      result.values.push_back(mask.values[row * mask.width + column]);
    }
  }
  return result;
}

/// Moves the pixels of a mask as `augment` moves those of the image. The colors of the image do not
/// matter.
[[nodiscard]] inline pixel_mask augment(pixel_mask mask, const image_changes& changes) {
  const auto width = static_cast<std::ptrdiff_t>(mask.width);
  if (changes.flipped) {
    for (auto row = mask.values.begin(); row != mask.values.end(); row += width) {
      std::reverse(row, row + width);
    }
  }
  if (!changes.moved) {
    return mask;
  }
  const auto nearest = [](double position, std::size_t size) {
    return static_cast<std::size_t>(
        std::lround(std::clamp(position, 0.0, static_cast<double>(size - 1))));
  };
  pixel_mask result{mask.height, mask.width, {}};
  result.values.reserve(mask.values.size());
  const affine_map& map = changes.map;
  for (std::size_t i = 0; i < mask.height; ++i) {
    for (std::size_t j = 0; j < mask.width; ++j) {
      const auto y = static_cast<double>(i);
      const auto x = static_cast<double>(j);
      const std::size_t row = nearest(map.yy * y + map.yx * x + map.y0, mask.height);
      const std::size_t column = nearest(map.xy * y + map.xx * x + map.x0, mask.width);
      result.values.push_back(mask.values[row * mask.width + column]);
    }
  }
  return result;
}

}  // namespace glia::detail
