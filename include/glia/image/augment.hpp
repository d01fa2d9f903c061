#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/image/image.hpp"

namespace glia {

/// The range from which a factor is drawn at random, uniformly.
struct factor_range {
  double low = 1;   ///< Smallest factor.
  double high = 1;  ///< Largest factor.

  friend bool operator==(const factor_range&, const factor_range&) = default;
};

/// Random changes to training images. A changed image keeps its class. All changes are off by
/// default.
///
///     .augmentation = {.horizontal_flip = 0.5, .rotation = 15, .zoom = {0.9, 1.2}, .shift = 0.1}
///
/// Some options differ from Keras's. `horizontal_flip` is a probability and not a boolean.
/// `rotation` is in degrees and not a fraction of a turn. A `zoom` above 1 enlarges the image. In
/// Keras, a positive factor shrinks the image. `brightness` is a factor, as in torchvision; Keras's
/// `RandomBrightness` adds a value.
struct augmentation {
  double horizontal_flip = 0;  ///< Probability of mirroring the image, in [0, 1].
  /// Largest angle in degrees, in [0, 180]. The angle is drawn from [-rotation, rotation].
  double rotation = 0;
  factor_range zoom{};  ///< Range of the zoom factor, in [0.01, 100]; a factor above 1 enlarges.
  /// Largest shift as a fraction of the height and the width, in [0, 1]. For each axis, the shift
  /// is drawn from [-shift, shift].
  double shift = 0;
  factor_range saturation{};  ///< Range of the saturation factor, in [0, 100]; 0: gray.
  factor_range brightness{};  ///< Range of the brightness factor, in [0, 100]; 0: black.

  /// Whether any option differs from its default.
  [[nodiscard]] bool varies() const { return *this != augmentation{}; }

  friend bool operator==(const augmentation&, const augmentation&) = default;
};

namespace detail {

inline void require_valid(const augmentation& options) {
  const auto require_within = [](std::string_view name, double value, double limit) {
    require<value_error>(value >= 0 && value <= limit, "augmentation: expected ", name, " in [0, ",
                         limit, "], got ", value);
  };
  require_within("horizontal_flip", options.horizontal_flip, 1);
  require_within("rotation", options.rotation, 180);
  require_within("shift", options.shift, 1);
  const auto require_ordered = [](std::string_view name, const factor_range& range,
                                  double minimum) {
    require<value_error>(range.low >= minimum && range.low <= range.high && range.high <= 100,
                         "augmentation: expected ", name, " with ", minimum,
                         " <= low <= high <= 100, got {", range.low, ", ", range.high, "}");
  };
  require_ordered("zoom", options.zoom, 0.01);
  require_ordered("saturation", options.saturation, 0);
  require_ordered("brightness", options.brightness, 0);
}

/// A mapping from the pixels of a result to positions in the source: pixel (y, x) of the result
/// comes from row yy y + yx x + y0 and column xy y + xx x + x0, in pixels.
struct affine_map {
  double yy = 1, yx = 0, y0 = 0;
  double xy = 0, xx = 1, x0 = 0;
};

/// Returns an image of the same size, whose pixels are interpolated bilinearly at the mapped
/// positions of the source. Outside the source, the edge pixels are repeated. Positions are
/// integers in units of 2^-24 pixel, rounded to 1/256 pixel for the weights. Integers are faster
/// than floats here, and the results differ by at most one gray level.
[[nodiscard]] inline image warp(const image& picture, const affine_map& map) {
  const auto fixed = [](double value) { return std::int64_t{std::llround(value * 0x1p24)}; };
  const auto last_row = static_cast<std::int64_t>(picture.height - 1);
  const auto last_column = static_cast<std::int64_t>(picture.width - 1);
  const auto stride = static_cast<std::ptrdiff_t>(picture.width * 3);
  const std::int64_t row_step = fixed(map.yx);
  const std::int64_t column_step = fixed(map.xx);
  constexpr std::int64_t half = 1 << 15;  // half of 1/256 pixel
  image result = picture;
  std::uint8_t* destination = result.pixels.data();
  for (std::size_t y = 0; y < picture.height; ++y) {
    std::int64_t v = fixed(map.yy * static_cast<double>(y) + map.y0);
    std::int64_t u = fixed(map.xy * static_cast<double>(y) + map.x0);
    for (std::size_t x = 0; x < picture.width;
         ++x, destination += 3, v += row_step, u += column_step) {
      const std::int64_t row = std::clamp<std::int64_t>(v + half, 0, last_row << 24);
      const std::int64_t column = std::clamp<std::int64_t>(u + half, 0, last_column << 24);
      const std::int64_t top = row >> 24;
      const std::int64_t left = column >> 24;
      const auto lower = static_cast<int>(row >> 16 & 0xFF);
      const auto later = static_cast<int>(column >> 16 & 0xFF);
      const std::ptrdiff_t next_row = top < last_row ? stride : 0;
      const std::ptrdiff_t next_column = left < last_column ? 3 : 0;
      const std::uint8_t* source = picture.pixels.data() + top * stride + left * 3;
      for (int c = 0; c < 3; ++c, ++source) {
        const int top_sum = source[0] * (256 - later) + source[next_column] * later;
        const int bottom_sum =
            source[next_row] * (256 - later) + source[next_row + next_column] * later;
        destination[c] =
            static_cast<std::uint8_t>((top_sum * (256 - lower) + bottom_sum * lower + 32768) >> 16);
      }
    }
  }
  return result;
}

inline void mirror(image& picture) {
  for (std::size_t y = 0; y < picture.height; ++y) {
    std::uint8_t* left = picture.pixels.data() + y * picture.width * 3;
    std::uint8_t* right = left + (picture.width - 1) * 3;
    for (; left < right; left += 3, right -= 3) {
      std::swap_ranges(left, left + 3, right);
    }
  }
}

/// Changes each pixel to brightness (luma + saturation (pixel - luma)), clamped to [0, 255], where
/// luma = 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601).
inline void recolor(image& picture, double saturation, double brightness) {
  const auto pixel_weight = static_cast<float>(brightness * saturation);
  const auto luma_weight = static_cast<float>(brightness * (1 - saturation));
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    std::uint8_t* pixel = picture.pixels.data() + i;
    const std::array<float, 3> color{static_cast<float>(pixel[0]), static_cast<float>(pixel[1]),
                                     static_cast<float>(pixel[2])};
    const float luma = 0.299F * color[0] + 0.587F * color[1] + 0.114F * color[2];
    const float base = luma_weight * luma + 0.5F;
    for (std::size_t c = 0; c < 3; ++c) {
      const auto changed = static_cast<int>(base + pixel_weight * color[c]);
      pixel[c] = static_cast<std::uint8_t>(std::clamp(changed, 0, 255));
    }
  }
}

/// The changes that are drawn for one image.
struct image_changes {
  bool flipped = false;
  bool moved = false;     ///< Whether `map` is not the identity.
  affine_map map{};       ///< Rotation, zoom and shift, from the result to the mirrored image.
  double saturation = 1;  ///< Factor.
  double brightness = 1;  ///< Factor.
};

/// Draws the changes of an image of height x width. Throws `value_error` if an option is outside
/// its range.
[[nodiscard]] inline image_changes draw_changes(const augmentation& options, const random_key& key,
                                                std::size_t height, std::size_t width) {
  require_valid(options);
  random_stream random(key);
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.uniform();
  };
  image_changes result;
  result.flipped = random.uniform() < options.horizontal_flip;
  const double angle = between(-options.rotation, options.rotation) * std::numbers::pi / 180;
  const double zoom = between(options.zoom.low, options.zoom.high);
  const double shift_y = between(-options.shift, options.shift) * static_cast<double>(height);
  const double shift_x = between(-options.shift, options.shift) * static_cast<double>(width);
  result.saturation = between(options.saturation.low, options.saturation.high);
  result.brightness = between(options.brightness.low, options.brightness.high);
  result.moved = angle != 0 || zoom != 1 || shift_y != 0 || shift_x != 0;
  // The inverse of rotating, zooming and shifting, about the center. Rows count downwards.
  const double cosine = std::cos(angle) / zoom;
  const double sine = std::sin(angle) / zoom;
  const double y = (static_cast<double>(height) - 1) / 2;
  const double x = (static_cast<double>(width) - 1) / 2;
  result.map = {.yy = cosine,
                .yx = sine,
                .y0 = y - cosine * (y + shift_y) - sine * (x + shift_x),
                .xy = -sine,
                .xx = cosine,
                .x0 = x + sine * (y + shift_y) - cosine * (x + shift_x)};
  return result;
}

}  // namespace detail

/// Returns a randomly changed image of the same size.
///
/// The changes are applied in this order: mirror; rotate about the center, counter-clockwise for
/// positive angles; zoom about the center; shift; saturation; brightness. Rotation, zoom and shift
/// are combined into one bilinear resampling, which repeats the edge pixels outside the image.
/// Saturation interpolates between the image and its gray version, the luma (ITU-R BT.601).
///
/// The result depends only on the image, the options and the key. Each change has its own random
/// numbers: turning one change on does not alter the others.
///
/// Throws `value_error` if an option is outside its range, and `shape_error` for an image without
/// pixels.
[[nodiscard]] inline image augment(image picture, const augmentation& options,
                                   const random_key& key) {
  detail::require_picture("augment", picture);
  const detail::image_changes changes =
      detail::draw_changes(options, key, picture.height, picture.width);
  if (changes.flipped) {
    detail::mirror(picture);
  }
  if (changes.moved) {
    picture = detail::warp(picture, changes.map);
  }
  if (changes.saturation != 1 || changes.brightness != 1) {
    detail::recolor(picture, changes.saturation, changes.brightness);
  }
  return picture;
}

}  // namespace glia
