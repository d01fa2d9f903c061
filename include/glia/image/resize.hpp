#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"

namespace glia {

namespace detail {

/// One axis of a resize: pixel i of the result is the sum over t < count of
/// weights[i count + t] times pixel first[i] + t of the source.
struct resize_axis {
  std::size_t count = 0;
  std::vector<std::size_t> first;
  std::vector<float> weights;
};

[[nodiscard]] inline resize_axis plan_resize(std::size_t from, std::size_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(1.0, scale);
  resize_axis axis;
  // Windows at the borders are moved inwards, weights outside the filter being 0, so that all are
  // equally long.
  axis.count = from == to ? 1 : std::min(from, static_cast<std::size_t>(std::ceil(2 * support)));
  axis.first.resize(to);
  axis.weights.resize(to * axis.count);
  for (std::size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const double left = std::max(0.0, std::floor(centre - support + 0.5));
    axis.first[i] = std::min(static_cast<std::size_t>(left), from - axis.count);
    const std::span weights = std::span(axis.weights).subspan(i * axis.count, axis.count);
    double sum = 0;
    const auto triangle = [&](std::size_t t) {
      const double distance = static_cast<double>(axis.first[i] + t) + 0.5 - centre;
      return std::max(0.0, 1.0 - std::abs(distance) / support);
    };
    for (std::size_t t = 0; t < axis.count; ++t) {
      sum += triangle(t);
    }
    for (std::size_t t = 0; t < axis.count; ++t) {
      weights[t] = static_cast<float>(triangle(t) / sum);
    }
  }
  return axis;
}

// Four values side by side, in loops of a constant length: those compilers vectorise at -O2, too,
// and keep in a register.
using four = std::array<float, 4>;

inline void add(four& sum, float weight, const float* values) {
  for (std::size_t lane = 0; lane < 4; ++lane) {
    sum[lane] += weight * values[lane];
  }
}

inline void widen(std::span<const std::uint8_t> bytes, float* values) {
  constexpr std::size_t block = 16;
  std::size_t i = 0;
  for (; i + block <= bytes.size(); i += block) {
    // Copied first: bytes may alias anything, and then nothing is vectorised.
    std::array<std::uint8_t, block> some;
    std::copy_n(bytes.data() + i, block, some.begin());
    for (std::size_t lane = 0; lane < block; ++lane) {
      values[i + lane] = some[lane];
    }
  }
  for (; i < bytes.size(); ++i) {
    values[i] = bytes[i];
  }
}

/// A row (W, 3) to a row (to, 3). Four lanes hold one pixel and one value that is not used, so both
/// rows have room for one value more.
inline void resize_row(const resize_axis& axis, const float* from, float* to) {
  for (std::size_t i = 0; i < axis.first.size(); ++i) {
    const float* weights = axis.weights.data() + i * axis.count;
    const float* pixel = from + axis.first[i] * 3;
    four sum{};
    for (std::size_t t = 0; t < axis.count; ++t) {
      add(sum, weights[t], pixel + t * 3);
    }
    std::copy(sum.begin(), sum.end(), to + i * 3);
  }
}

/// The weighted sum of rows of `stride` values, a multiple of 16, rounded to bytes.
inline void blend_rows(std::span<const float> weights, const float* from, std::size_t stride,
                       std::uint8_t* to) {
  constexpr four half{0.5F, 0.5F, 0.5F, 0.5F};  // rounds
  for (std::size_t x = 0; x < stride; x += 16) {
    four a = half;
    four b = half;
    four c = half;
    four d = half;
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const float* values = from + t * stride + x;
      add(a, weights[t], values);
      add(b, weights[t], values + 4);
      add(c, weights[t], values + 8);
      add(d, weights[t], values + 12);
    }
    std::array<float, 16> sums;
    std::copy(a.begin(), a.end(), sums.begin());
    std::copy(b.begin(), b.end(), sums.begin() + 4);
    std::copy(c.begin(), c.end(), sums.begin() + 8);
    std::copy(d.begin(), d.end(), sums.begin() + 12);
    std::array<std::uint8_t, 16> bytes;
    for (std::size_t lane = 0; lane < 16; ++lane) {
      bytes[lane] = static_cast<std::uint8_t>(static_cast<int>(sums[lane]));
    }
    std::copy(bytes.begin(), bytes.end(), to + x);
  }
}

}  // namespace detail

/// The picture at another size, by bilinear interpolation between half-pixel centres. Where an axis
/// shrinks, the triangle of weights is widened by the factor, so that every pixel counts
/// (antialiasing): as `Image.resize(size, BILINEAR)` of Pillow and `tf.image.resize` with
/// `antialias=True`, within one grey level of the former.
///
/// Throws `shape_error` for a picture without pixels, `value_error` for an extent of 0.
[[nodiscard]] inline image resize(const image& picture, std::size_t height, std::size_t width) {
  detail::require_picture("resize", picture);
  require<value_error>(height > 0 && width > 0, "resize: expected extents of at least 1, got ",
                       height, " x ", width);
  if (picture.height == height && picture.width == width) {
    return picture;
  }
  const detail::resize_axis rows = detail::plan_resize(picture.height, height);
  const detail::resize_axis columns = detail::plan_resize(picture.width, width);
  const std::size_t stride = (width * 3 + 16) / 16 * 16;  // at least one value of padding
  std::vector<float> narrow(picture.height * stride);
  std::vector<float> row(picture.width * 3 + 1);
  for (std::size_t y = 0; y < picture.height; ++y) {
    const auto pixels = std::span(picture.pixels).subspan(y * picture.width * 3, picture.width * 3);
    float* to = narrow.data() + y * stride;
    if (picture.width == width) {
      detail::widen(pixels, to);
    } else {
      detail::widen(pixels, row.data());
      detail::resize_row(columns, row.data(), to);
    }
  }

  image result{height, width, std::vector<std::uint8_t>(height * width * 3)};
  std::vector<std::uint8_t> bytes(stride);
  for (std::size_t y = 0; y < height; ++y) {
    detail::blend_rows(std::span(rows.weights).subspan(y * rows.count, rows.count),
                       narrow.data() + rows.first[y] * stride, stride, bytes.data());
    std::copy_n(bytes.data(), width * 3, result.pixels.data() + y * width * 3);
  }
  return result;
}

/// The middle of a picture; where what is cut off is odd, one pixel more goes at the bottom or the
/// right. Throws `shape_error` for a picture smaller than what is to be cut out.
[[nodiscard]] inline image center_crop(const image& picture, std::size_t height,
                                       std::size_t width) {
  detail::require_picture("center_crop", picture);
  require<value_error>(height > 0 && width > 0, "center_crop: expected extents of at least 1, got ",
                       height, " x ", width);
  require<shape_error>(picture.height >= height && picture.width >= width,
                       "center_crop: cannot cut ", height, " x ", width, " out of a picture of ",
                       picture.height, " x ", picture.width, "; resize it first");
  image result{height, width, std::vector<std::uint8_t>(height * width * 3)};
  const std::size_t top = (picture.height - height) / 2;
  const std::size_t left = (picture.width - width) / 2;
  for (std::size_t y = 0; y < height; ++y) {
    std::copy_n(picture.pixels.data() + ((top + y) * picture.width + left) * 3, width * 3,
                result.pixels.data() + y * width * 3);
  }
  return result;
}

/// The largest middle part of a picture that has the proportions height : width, at that size: the
/// picture is resized, keeping its own proportions, until it just covers height x width, and
/// cropped. Throws as `resize` does.
[[nodiscard]] inline image resize_and_crop(const image& picture, std::size_t height,
                                           std::size_t width) {
  detail::require_picture("resize_and_crop", picture);
  require<value_error>(height > 0 && width > 0,
                       "resize_and_crop: expected extents of at least 1, got ", height, " x ",
                       width);
  const double factor = std::max(static_cast<double>(height) / static_cast<double>(picture.height),
                                 static_cast<double>(width) / static_cast<double>(picture.width));
  const auto scaled = [&](std::size_t extent, std::size_t needed) {
    return std::max(needed,
                    static_cast<std::size_t>(std::llround(static_cast<double>(extent) * factor)));
  };
  return center_crop(resize(picture, scaled(picture.height, height), scaled(picture.width, width)),
                     height, width);
}

}  // namespace glia
