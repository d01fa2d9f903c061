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

/// Bounds that a factor is drawn between, uniformly.
struct factor_range {
  double low = 1;
  double high = 1;

  friend bool operator==(const factor_range&, const factor_range&) = default;
};

/// Random changes that leave a photo's class as it is. All are off by default.
///
///     .augment = {.horizontal_flip = 0.5, .rotation = 15, .zoom = {0.9, 1.2}, .shift = 0.1}
struct augmentation {
  double horizontal_flip = 0;  ///< probability of a mirror image, in [0, 1]
  double rotation = 0;         ///< degrees: drawn from [-rotation, rotation], in [0, 180]
  factor_range zoom{};         ///< above 1 enlarges; 0.01 <= low <= high <= 100
  double shift = 0;            ///< of each extent: drawn from [-shift, shift], in [0, 1]
  factor_range saturation{};   ///< 0 is grey, 1 as it was; 0 <= low <= high <= 100
  factor_range brightness{};   ///< 0 is black, 1 as it was; 0 <= low <= high <= 100

  /// Whether a picture may come out other than it went in.
  [[nodiscard]] bool varies() const { return *this != augmentation{}; }

  friend bool operator==(const augmentation&, const augmentation&) = default;
};

namespace detail {

inline void require_valid(const augmentation& options) {
  const auto within = [](std::string_view name, double value, double limit) {
    require<value_error>(value >= 0 && value <= limit, "augmentation: expected ", name, " in [0, ",
                         limit, "], got ", value);
  };
  within("horizontal_flip", options.horizontal_flip, 1);
  within("rotation", options.rotation, 180);
  within("shift", options.shift, 1);
  const auto ordered = [](std::string_view name, const factor_range& range, double least) {
    require<value_error>(range.low >= least && range.low <= range.high && range.high <= 100,
                         "augmentation: expected ", name, " with ", least,
                         " <= low <= high <= 100, got {", range.low, ", ", range.high, "}");
  };
  ordered("zoom", options.zoom, 0.01);
  ordered("saturation", options.saturation, 0);
  ordered("brightness", options.brightness, 0);
}

/// Where the pixels of a result come from: result pixel (y, x) is at height
/// yy y + yx x + y0 and width xy y + xx x + x0 of the source, in pixel numbers.
struct affine_map {
  double yy = 1, yx = 0, y0 = 0;
  double xy = 0, xx = 1, x0 = 0;
};

/// Bilinear samples of the picture; beyond its edges their pixels are repeated. Places are kept in
/// 2^-24 of a pixel and advance by integers, and are rounded to 1/256 for the weights: quicker than
/// floats, and within one grey level of them.
[[nodiscard]] inline image warp(const image& picture, const affine_map& map) {
  const auto fixed = [](double value) { return std::int64_t{std::llround(value * 0x1p24)}; };
  const auto last_row = static_cast<std::int64_t>(picture.height - 1);
  const auto last_column = static_cast<std::int64_t>(picture.width - 1);
  const auto stride = static_cast<std::ptrdiff_t>(picture.width * 3);
  const std::int64_t down = fixed(map.yx);
  const std::int64_t right = fixed(map.xx);
  constexpr std::int64_t half = 1 << 15;  // of 1/256
  image result = picture;
  std::uint8_t* to = result.pixels.data();
  for (std::size_t y = 0; y < picture.height; ++y) {
    std::int64_t v = fixed(map.yy * static_cast<double>(y) + map.y0);
    std::int64_t u = fixed(map.xy * static_cast<double>(y) + map.x0);
    for (std::size_t x = 0; x < picture.width; ++x, to += 3, v += down, u += right) {
      const std::int64_t row = std::clamp<std::int64_t>(v + half, 0, last_row << 24);
      const std::int64_t column = std::clamp<std::int64_t>(u + half, 0, last_column << 24);
      const std::int64_t top = row >> 24;
      const std::int64_t left = column >> 24;
      const auto lower = static_cast<int>(row >> 16 & 0xFF);
      const auto later = static_cast<int>(column >> 16 & 0xFF);
      const std::ptrdiff_t below = top < last_row ? stride : 0;
      const std::ptrdiff_t beside = left < last_column ? 3 : 0;
      const std::uint8_t* from = picture.pixels.data() + top * stride + left * 3;
      for (int c = 0; c < 3; ++c, ++from) {
        const int above = from[0] * (256 - later) + from[beside] * later;
        const int under = from[below] * (256 - later) + from[below + beside] * later;
        to[c] = static_cast<std::uint8_t>((above * (256 - lower) + under * lower + 32768) >> 16);
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

/// Each pixel as brightness (luma + saturation (pixel - luma)), where luma = 0.299 R + 0.587 G +
/// 0.114 B (ITU-R BT.601), held within [0, 255].
inline void recolour(image& picture, double saturation, double brightness) {
  const auto of_pixel = static_cast<float>(brightness * saturation);
  const auto of_luma = static_cast<float>(brightness * (1 - saturation));
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    std::uint8_t* pixel = picture.pixels.data() + i;
    const std::array<float, 3> colour{static_cast<float>(pixel[0]), static_cast<float>(pixel[1]),
                                      static_cast<float>(pixel[2])};
    const float luma = 0.299F * colour[0] + 0.587F * colour[1] + 0.114F * colour[2];
    const float base = of_luma * luma + 0.5F;
    for (std::size_t c = 0; c < 3; ++c) {
      const auto changed = static_cast<int>(base + of_pixel * colour[c]);
      pixel[c] = static_cast<std::uint8_t>(std::clamp(changed, 0, 255));
    }
  }
}

}  // namespace detail

/// A random variant of a picture, of the same size. What happens depends on the options and the key
/// alone; each change has draws of its own, so that turning one on leaves the others as they were.
///
/// In this order: mirrored, rotated about the middle (counter-clockwise for positive angles),
/// zoomed about the middle, shifted (all in one bilinear sampling, edge pixels repeated); then
/// saturation (interpolation with the luma of ITU-R BT.601) and brightness (a factor).
///
/// Throws `value_error` for options outside their ranges.
[[nodiscard]] inline image augment(image picture, const augmentation& options,
                                   const random_key& key) {
  detail::require_picture("augment", picture);
  detail::require_valid(options);
  random_stream random(key);
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.uniform();
  };
  const bool flipped = random.uniform() < options.horizontal_flip;
  const double angle = between(-options.rotation, options.rotation) * std::numbers::pi / 180;
  const double zoom = between(options.zoom.low, options.zoom.high);
  const auto height = static_cast<double>(picture.height);
  const auto width = static_cast<double>(picture.width);
  const double down = between(-options.shift, options.shift) * height;
  const double right = between(-options.shift, options.shift) * width;
  const double saturation = between(options.saturation.low, options.saturation.high);
  const double brightness = between(options.brightness.low, options.brightness.high);

  if (flipped) {
    detail::mirror(picture);
  }
  if (angle != 0 || zoom != 1 || down != 0 || right != 0) {
    // The inverse of rotating, zooming and shifting, about the middle. Height counts downwards.
    const double cosine = std::cos(angle) / zoom;
    const double sine = std::sin(angle) / zoom;
    const double y = (height - 1) / 2;
    const double x = (width - 1) / 2;
    picture = detail::warp(picture, {.yy = cosine,
                                     .yx = sine,
                                     .y0 = y - cosine * (y + down) - sine * (x + right),
                                     .xy = -sine,
                                     .xx = cosine,
                                     .x0 = x + sine * (y + down) - cosine * (x + right)});
  }
  if (saturation != 1 || brightness != 1) {
    detail::recolour(picture, saturation, brightness);
  }
  return picture;
}

}  // namespace glia
