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

/// Returns the weights for `range`, a part of an axis that is resized from `source_size` to
/// `target_size` pixels.
[[nodiscard]] inline resize_axis plan_resize(std::size_t source_size, std::size_t target_size,
                                             const pixel_range& range) {
  const double scale = static_cast<double>(source_size) / static_cast<double>(target_size);
  const double support = std::max(1.0, scale);
  resize_axis axis;
  // All windows have equal length. Windows at the borders are moved inwards, and their surplus
  // pixels get the weight 0.
  axis.count = source_size == target_size
                   ? 1
                   : std::min(source_size, static_cast<std::size_t>(std::ceil(2 * support)));
  axis.first.resize(range.size);
  axis.weights.resize(range.size * axis.count);
  for (std::size_t i = 0; i < range.size; ++i) {
    const double center = (static_cast<double>(range.first + i) + 0.5) * scale;
    const double begin = std::max(0.0, std::floor(center - support + 0.5));
    axis.first[i] = std::min(static_cast<std::size_t>(begin), source_size - axis.count);
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
  std::size_t overlap = 1;
  for (std::size_t i = 0, oldest = 0; i < axis.first.size(); ++i) {
    while (axis.first[oldest] + axis.count <= axis.first[i]) {
      ++oldest;
    }
    overlap = std::max(overlap, i + 1 - oldest);
  }
  return overlap;
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
    std::array<std::uint8_t, block> copy;
    std::copy_n(bytes.data() + i, block, copy.begin());
    for (std::size_t lane = 0; lane < block; ++lane) {
      values[i + lane] = copy[lane];
    }
  }
  for (; i < bytes.size(); ++i) {
    values[i] = bytes[i];
  }
}

/// Resizes a row of pixels that begins at column `first_column` of the source. Four lanes hold one
/// pixel and one unused value, so both rows need space for one more value.
inline void resize_row(const resize_axis& axis, std::size_t first_column, const float* source,
                       float* destination) {
  for (std::size_t i = 0; i < axis.first.size(); ++i) {
    const float* weights = axis.weights.data() + i * axis.count;
    const float* pixel = source + (axis.first[i] - first_column) * 3;
    four sum{};
    for (std::size_t t = 0; t < axis.count; ++t) {
      add(sum, weights[t], pixel + t * 3);
    }
    std::copy(sum.begin(), sum.end(), destination + i * 3);
  }
}

/// Adds some rows of a window, multiplied by their weights. A row has `stride` values, a multiple
/// of 16. With First, these are the first rows of the window; otherwise, they are added to the
/// values in `sums`. With Last, these are its last rows, and the sums are rounded and stored in
/// `bytes`; otherwise, the sums are stored in `sums`.
template <bool First, bool Last>
void blend_rows(std::span<const float> weights, const float* rows, std::size_t stride, float* sums,
                std::uint8_t* bytes) {
  const auto begun = [&](std::size_t x) {
    four initial{0.5F, 0.5F, 0.5F, 0.5F};  // rounds
    if constexpr (!First) {
      std::copy_n(sums + x, 4, initial.begin());
    }
    return initial;
  };
  for (std::size_t x = 0; x < stride; x += 16) {
    four a = begun(x);
    four b = begun(x + 4);
    four c = begun(x + 8);
    four d = begun(x + 12);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const float* values = rows + t * stride + x;
      add(a, weights[t], values);
      add(b, weights[t], values + 4);
      add(c, weights[t], values + 8);
      add(d, weights[t], values + 12);
    }
    std::array<float, 16> lanes;
    std::copy(a.begin(), a.end(), lanes.begin());
    std::copy(b.begin(), b.end(), lanes.begin() + 4);
    std::copy(c.begin(), c.end(), lanes.begin() + 8);
    std::copy(d.begin(), d.end(), lanes.begin() + 12);
    if constexpr (Last) {
      std::array<std::uint8_t, 16> rounded;
      for (std::size_t lane = 0; lane < 16; ++lane) {
        rounded[lane] = static_cast<std::uint8_t>(static_cast<int>(lanes[lane]));
      }
      std::copy(rounded.begin(), rounded.end(), bytes + x);
    } else {
      std::copy(lanes.begin(), lanes.end(), sums + x);
    }
  }
}

/// Resizes an image to height x width, and returns the rows `row_range` and the columns
/// `column_range` of the result. Only this part is computed. A few rows of the source at a time are
/// converted to floats. If a window needs more rows, its partial sum is kept until the next rows
/// are converted.
[[nodiscard]] inline image resize_part(const image& picture, std::size_t height, std::size_t width,
                                       const pixel_range& row_range,
                                       const pixel_range& column_range) {
  constexpr std::size_t rows_at_a_time = 8;  // for 224 pixels, these fit into the first-level cache
  const resize_axis rows = plan_resize(picture.height, height, row_range);
  const resize_axis columns = plan_resize(picture.width, width, column_range);
  const std::size_t first_column = columns.first.front();
  const std::size_t used = columns.first.back() + columns.count - first_column;
  const std::size_t end = rows.first.back() + rows.count;
  // At least one value of padding.
  const std::size_t stride = (column_range.size * 3 + 16) / 16 * 16;
  const std::size_t overlap = overlap_of(rows);
  std::vector<float> row(used * 3 + 1);
  std::vector<float> narrow(rows_at_a_time * stride);
  std::vector<float> sums(overlap * stride);
  std::vector<std::uint8_t> bytes(stride);
  image result{row_range.size, column_range.size,
               std::vector<std::uint8_t>(row_range.size * column_range.size * 3)};
  std::size_t done = 0;
  for (std::size_t top = rows.first.front(); top < end; top += rows_at_a_time) {
    const std::size_t bottom = std::min(top + rows_at_a_time, end);
    for (std::size_t y = top; y < bottom; ++y) {
      const auto pixels =
          std::span(picture.pixels).subspan((y * picture.width + first_column) * 3, used * 3);
      float* const narrow_row = narrow.data() + (y - top) * stride;
      if (picture.width == width) {
        widen(pixels, narrow_row);
      } else {
        widen(pixels, row.data());
        resize_row(columns, first_column, row.data(), narrow_row);
      }
    }
    for (std::size_t i = done; i < row_range.size && rows.first[i] < bottom; ++i) {
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
        std::copy_n(bytes.data(), column_range.size * 3,
                    result.pixels.data() + i * column_range.size * 3);
        ++done;
      }
    }
  }
  return result;
}

/// Returns the height and the width of an image of source_height x source_width that is resized,
/// with its proportions, until it just covers height x width.
[[nodiscard]] inline std::array<std::size_t, 2> covering_size(std::size_t source_height,
                                                              std::size_t source_width,
                                                              std::size_t height,
                                                              std::size_t width) {
  const double factor = std::max(static_cast<double>(height) / static_cast<double>(source_height),
                                 static_cast<double>(width) / static_cast<double>(source_width));
  const auto scaled = [&](std::size_t extent, std::size_t needed) {
    return std::max(needed,
                    static_cast<std::size_t>(std::llround(static_cast<double>(extent) * factor)));
  };
  return {scaled(source_height, height), scaled(source_width, width)};
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
  const auto [high, wide] = detail::covering_size(picture.height, picture.width, height, width);
  if (high == picture.height && wide == picture.width) {
    return center_crop(picture, height, width);
  }
  return detail::resize_part(picture, high, wide, {(high - height) / 2, height},
                             {(wide - width) / 2, width});
}

}  // namespace glia
