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

/// A range of pixels along an axis.
struct pixel_range {
  std::size_t first = 0;
  std::size_t size = 0;
};

/// The weights for resizing one axis: result[i] is the sum over t < count of weights[i count + t]
/// times source[first[i] + t]. The values in `first` never decrease.
struct resize_axis {
  std::size_t count = 0;
  std::vector<std::size_t> first;
  std::vector<float> weights;
};

/// Returns the weights for the range `wanted` of an axis that is resized from `from` to `to`
/// pixels.
[[nodiscard]] inline resize_axis plan_resize(std::size_t from, std::size_t to,
                                             const pixel_range& wanted) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(1.0, scale);
  resize_axis axis;
  // All windows have equal length. Windows at the borders are moved inwards, and their surplus
  // pixels get the weight 0.
  axis.count = from == to ? 1 : std::min(from, static_cast<std::size_t>(std::ceil(2 * support)));
  axis.first.resize(wanted.size);
  axis.weights.resize(wanted.size * axis.count);
  for (std::size_t i = 0; i < wanted.size; ++i) {
    const double center = (static_cast<double>(wanted.first + i) + 0.5) * scale;
    const double left = std::max(0.0, std::floor(center - support + 0.5));
    axis.first[i] = std::min(static_cast<std::size_t>(left), from - axis.count);
    const std::span weights = std::span(axis.weights).subspan(i * axis.count, axis.count);
    double sum = 0;
    const auto triangle = [&](std::size_t t) {
      const double distance = static_cast<double>(axis.first[i] + t) + 0.5 - center;
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

/// Returns the largest number of pixels of the result that use the same pixel of the source.
[[nodiscard]] inline std::size_t overlap_of(const resize_axis& axis) {
  std::size_t most = 1;
  for (std::size_t i = 0, oldest = 0; i < axis.first.size(); ++i) {
    while (axis.first[oldest] + axis.count <= axis.first[i]) {
      ++oldest;
    }
    most = std::max(most, i + 1 - oldest);
  }
  return most;
}

// Four values in loops of constant length, which compilers vectorize even at -O2 and keep in a
// register.
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
    // Copied first, because bytes may alias anything, which would prevent vectorization.
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

/// Resizes a row of pixels that begins at column `left` of the source. Four lanes hold one pixel
/// and one unused value, so both rows need space for one more value.
inline void resize_row(const resize_axis& axis, std::size_t left, const float* from, float* to) {
  for (std::size_t i = 0; i < axis.first.size(); ++i) {
    const float* weights = axis.weights.data() + i * axis.count;
    const float* pixel = from + (axis.first[i] - left) * 3;
    four sum{};
    for (std::size_t t = 0; t < axis.count; ++t) {
      add(sum, weights[t], pixel + t * 3);
    }
    std::copy(sum.begin(), sum.end(), to + i * 3);
  }
}

/// Adds some rows of a window, multiplied by their weights. A row has `stride` values, a multiple
/// of 16. With First, these are the first rows of the window; otherwise, they are added to the
/// values in `sums`. With Last, these are its last rows, and the sums are rounded and stored in
/// `bytes`; otherwise, the sums are stored in `sums`.
template <bool First, bool Last>
void blend_rows(std::span<const float> weights, const float* from, std::size_t stride, float* sums,
                std::uint8_t* bytes) {
  const auto begun = [&](std::size_t x) {
    four some{0.5F, 0.5F, 0.5F, 0.5F};  // rounds
    if constexpr (!First) {
      std::copy_n(sums + x, 4, some.begin());
    }
    return some;
  };
  for (std::size_t x = 0; x < stride; x += 16) {
    four a = begun(x);
    four b = begun(x + 4);
    four c = begun(x + 8);
    four d = begun(x + 12);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const float* values = from + t * stride + x;
      add(a, weights[t], values);
      add(b, weights[t], values + 4);
      add(c, weights[t], values + 8);
      add(d, weights[t], values + 12);
    }
    std::array<float, 16> all;
    std::copy(a.begin(), a.end(), all.begin());
    std::copy(b.begin(), b.end(), all.begin() + 4);
    std::copy(c.begin(), c.end(), all.begin() + 8);
    std::copy(d.begin(), d.end(), all.begin() + 12);
    if constexpr (Last) {
      std::array<std::uint8_t, 16> some;
      for (std::size_t lane = 0; lane < 16; ++lane) {
        some[lane] = static_cast<std::uint8_t>(static_cast<int>(all[lane]));
      }
      std::copy(some.begin(), some.end(), bytes + x);
    } else {
      std::copy(all.begin(), all.end(), sums + x);
    }
  }
}

/// Resizes an image to height x width, and returns the rows `down` and the columns `right` of the
/// result. Only this part is computed. A few rows of the source at a time are converted to floats.
/// If a window needs more rows, its partial sum is kept until the next rows are converted.
[[nodiscard]] inline image resize_part(const image& picture, std::size_t height, std::size_t width,
                                       const pixel_range& down, const pixel_range& right) {
  constexpr std::size_t rows_at_a_time = 8;  // for 224 pixels, these fit into the first-level cache
  const resize_axis rows = plan_resize(picture.height, height, down);
  const resize_axis columns = plan_resize(picture.width, width, right);
  const std::size_t left = columns.first.front();
  const std::size_t used = columns.first.back() + columns.count - left;
  const std::size_t end = rows.first.back() + rows.count;
  const std::size_t stride = (right.size * 3 + 16) / 16 * 16;  // at least one value of padding
  const std::size_t overlap = overlap_of(rows);
  std::vector<float> row(used * 3 + 1);
  std::vector<float> narrow(rows_at_a_time * stride);
  std::vector<float> sums(overlap * stride);
  std::vector<std::uint8_t> bytes(stride);
  image result{down.size, right.size, std::vector<std::uint8_t>(down.size * right.size * 3)};
  std::size_t done = 0;
  for (std::size_t top = rows.first.front(); top < end; top += rows_at_a_time) {
    const std::size_t bottom = std::min(top + rows_at_a_time, end);
    for (std::size_t y = top; y < bottom; ++y) {
      const auto pixels =
          std::span(picture.pixels).subspan((y * picture.width + left) * 3, used * 3);
      float* const to = narrow.data() + (y - top) * stride;
      if (picture.width == width) {
        widen(pixels, to);
      } else {
        widen(pixels, row.data());
        resize_row(columns, left, row.data(), to);
      }
    }
    for (std::size_t i = done; i < down.size && rows.first[i] < bottom; ++i) {
      const std::size_t first = std::max(rows.first[i], top);
      const std::size_t last = std::min(rows.first[i] + rows.count, bottom);
      const bool begins = rows.first[i] >= top;
      const bool ends = rows.first[i] + rows.count <= bottom;
      const auto blend = begins ? (ends ? blend_rows<true, true> : blend_rows<true, false>)
                                : (ends ? blend_rows<false, true> : blend_rows<false, false>);
      blend(std::span(rows.weights).subspan(i * rows.count + first - rows.first[i], last - first),
            narrow.data() + (first - top) * stride, stride, sums.data() + i % overlap * stride,
            bytes.data());
      if (ends) {
        std::copy_n(bytes.data(), right.size * 3, result.pixels.data() + i * right.size * 3);
        ++done;
      }
    }
  }
  return result;
}

}  // namespace detail

/// Resizes an image with bilinear interpolation and antialiasing.
///
/// Pixel centers are at half-pixel positions. If an axis shrinks, the triangle of weights is
/// widened by the same factor, so that every pixel of the source contributes. This is the method of
/// Pillow's `Image.resize(size, BILINEAR)` and of `tf.image.resize` with `antialias=True`. Results
/// differ from Pillow's by at most one gray level.
///
/// Throws `shape_error` for an image without pixels, and `value_error` for a height or width of 0.
[[nodiscard]] inline image resize(const image& picture, std::size_t height, std::size_t width) {
  detail::require_picture("resize", picture);
  require<value_error>(height > 0 && width > 0,
                       "resize: expected a height and a width of at least 1, got ", height, " x ",
                       width);
  if (picture.height == height && picture.width == width) {
    return picture;
  }
  return detail::resize_part(picture, height, width, {0, height}, {0, width});
}

/// Cuts a part of the given size out of the center of an image. If the number of pixels to cut off
/// is odd, one pixel more is cut off at the bottom or at the right.
///
/// Throws `shape_error` if the image is smaller than the part, and `value_error` for a height or
/// width of 0.
[[nodiscard]] inline image center_crop(const image& picture, std::size_t height,
                                       std::size_t width) {
  detail::require_picture("center_crop", picture);
  require<value_error>(height > 0 && width > 0,
                       "center_crop: expected a height and a width of at least 1, got ", height,
                       " x ", width);
  require<shape_error>(picture.height >= height && picture.width >= width,
                       "center_crop: cannot cut ", height, " x ", width, " out of an image of ",
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

/// Resizes an image and crops it to the given size without distortion. The image keeps its
/// proportions: it is resized until it just covers height x width, and the center is cut out.
///
/// Throws `shape_error` for an image without pixels, and `value_error` for a height or width of 0.
[[nodiscard]] inline image resize_and_crop(const image& picture, std::size_t height,
                                           std::size_t width) {
  detail::require_picture("resize_and_crop", picture);
  require<value_error>(height > 0 && width > 0,
                       "resize_and_crop: expected a height and a width of at least 1, got ", height,
                       " x ", width);
  const double factor = std::max(static_cast<double>(height) / static_cast<double>(picture.height),
                                 static_cast<double>(width) / static_cast<double>(picture.width));
  const auto scaled = [&](std::size_t extent, std::size_t needed) {
    return std::max(needed,
                    static_cast<std::size_t>(std::llround(static_cast<double>(extent) * factor)));
  };
  const std::size_t high = scaled(picture.height, height);
  const std::size_t wide = scaled(picture.width, width);
  if (high == picture.height && wide == picture.width) {
    return center_crop(picture, height, width);
  }
  return detail::resize_part(picture, high, wide, {(high - height) / 2, height},
                             {(wide - width) / 2, width});
}

}  // namespace glia
