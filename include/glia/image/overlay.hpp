#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "glia/core/error.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/image/image.hpp"
#include "glia/image/resize.hpp"
#include "glia/image/to_image.hpp"

namespace glia {

/// Options of `overlay`.
struct overlay_options {
  /// Share of the map's color in a pixel, from 0 to 1.
  double opacity = 0.6;
  /// Number of times by which the image is enlarged first, at least 1. Pixels of the image become
  /// squares; the map is interpolated.
  std::size_t scale = 1;
};

namespace detail {

/// Returns the color of a value from 0 to 255: dark blue, orange, yellow. The lightness grows with
/// the value, so that the colors can be ordered with every kind of color vision and in gray print.
[[nodiscard]] inline rgb heat_color(std::uint8_t value) {
  constexpr std::array<rgb, 3> colors{rgb{23, 64, 122}, rgb{217, 100, 43}, rgb{250, 230, 110}};
  const double position = value / 255.0 * (colors.size() - 1);
  const std::size_t first = std::min<std::size_t>(static_cast<std::size_t>(position), 1);
  const double share = position - static_cast<double>(first);
  rgb result{};
  for (std::size_t i = 0; i < 3; ++i) {
    result[i] = static_cast<std::uint8_t>(
        std::lround((1 - share) * colors[first][i] + share * colors[first + 1][i]));
  }
  return result;
}

}  // namespace detail

/// Draws a map (H', W') of values from 0 to 1 on an image, such as a map of `grad_cam`.
///
///     glia::write_png("evidence.png", glia::overlay(picture, xt::view(maps, 0), {.scale = 8}));
///
/// The map gets the size of the image by bilinear interpolation; see `resize`. Its colors are dark
/// blue for 0, orange for 0.5 and yellow for 1. Each pixel is the mean of the image and this color,
/// with the weights 1 - `opacity` and `opacity`. Values outside 0 to 1 are clamped.
///
/// Throws `shape_error` for an image without pixels or a map of another shape, and `value_error`
/// for an opacity or a scale out of range.
template <class E>
[[nodiscard]] image overlay(const image& picture, const xt::xexpression<E>& map,
                            const overlay_options& options = {}) {
  detail::require_picture("overlay", picture);
  const xt::xarray<float> values = map.derived_cast();
  require<shape_error>(values.dimension() == 2 && values.size() > 0,
                       "overlay: expected a map (H, W) of one or more values, got ",
                       shape(values.shape().begin(), values.shape().end()),
                       "; pass the map of one image at a time");
  require<value_error>(options.opacity >= 0 && options.opacity <= 1,
                       "overlay: expected an opacity from 0 to 1, got ", options.opacity);
  require<value_error>(options.scale > 0, "overlay: expected a scale of at least 1, got 0");
  image result = filled_image(picture.height * options.scale, picture.width * options.scale, {});
  const image heat = resize(to_image(values), result.height, result.width);
  for (std::size_t y = 0; y < result.height; ++y) {
    for (std::size_t x = 0; x < result.width; ++x) {
      const std::size_t pixel = (y * result.width + x) * 3;
      const std::size_t source = (y / options.scale * picture.width + x / options.scale) * 3;
      const rgb color = detail::heat_color(heat.pixels[pixel]);
      for (std::size_t i = 0; i < 3; ++i) {
        result.pixels[pixel + i] = static_cast<std::uint8_t>(std::lround(
            (1 - options.opacity) * picture.pixels[source + i] + options.opacity * color[i]));
      }
    }
  }
  return result;
}

}  // namespace glia
