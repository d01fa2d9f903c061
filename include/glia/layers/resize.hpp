#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// The ways to compute the pixels of an enlarged image.
enum class interpolation : std::uint8_t {
  nearest,  ///< Each pixel is a copy of the nearest pixel of the image.
  bilinear  ///< Each pixel is a weighted mean of the four nearest pixels of the image.
};

namespace detail {

/// Enlarges x by linear interpolation along axis 1 or 2 of (N, H, W, C).
///
/// An element of the result at position j is at (j + 1/2) / factor - 1/2 in x: all elements are
/// squares with their centers at half-integers. Outside of the outermost centers, x is constant.
[[nodiscard]] inline variable interpolate(const variable& x, std::size_t axis, std::size_t factor) {
  if (factor == 1) {
    return x;
  }
  // Each element becomes `factor` elements, each the weighted sum of the element and its neighbors.
  const auto count = static_cast<double>(factor);
  std::vector<double> previous_weights(factor);
  std::vector<double> element_weights(factor);
  std::vector<double> next_weights(factor);
  for (std::size_t j = 0; j < factor; ++j) {
    const double offset = (static_cast<double>(j) + 0.5) / count - 0.5;
    previous_weights[j] = std::max(-offset, 0.0);
    next_weights[j] = std::max(offset, 0.0);
    element_weights[j] = 1 - std::abs(offset);
  }
  const shape extents = x.shape();
  const std::size_t length = extents[axis];
  const std::size_t inner = axis == 1 ? extents[2] * extents[3] : extents[3];
  const std::size_t outer = axis == 1 ? extents[0] : extents[0] * extents[1];
  const auto weighted = [&](const variable& elements, const std::vector<double>& weights) {
    return ops::reshape(elements, {outer, length, 1, inner}) *
           x.device().from_host(std::span<const double>(weights.data(), factor), {factor, 1});
  };
  const auto slice = [&](std::size_t begin, std::size_t extent) {
    return ops::slice(x, {.axis = axis, .begin = begin, .extent = extent});
  };
  const auto axis_number = static_cast<std::ptrdiff_t>(axis);
  const variable previous = ops::concat({slice(0, 1), slice(0, length - 1)}, axis_number);
  const variable next = ops::concat({slice(1, length - 1), slice(length - 1, 1)}, axis_number);
  shape enlarged = extents;
  enlarged[axis] = length * factor;
  return ops::reshape(weighted(previous, previous_weights) + weighted(x, element_weights) +
                          weighted(next, next_weights),
                      enlarged);
}

}  // namespace detail

/// Enlarges images by whole factors.
///
/// The input is (N, H, W, C) and the output (N, H * size.height, W * size.width, C).
///
/// With `interpolation::nearest`, rows and columns are repeated. With `interpolation::bilinear`,
/// pixel j of the output is at (j + 1/2) / size - 1/2 in the input, and its value is interpolated
/// linearly between the rows and the columns next to it. Beyond the centers of the outermost rows
/// and columns, the values are those of these rows and columns.
///
/// Throws `shape_error` if the input does not have four axes or has no pixels, and `value_error` if
/// `size` is 0.
struct upsample2d {
  extent2d size = 2;  ///< Factors for rows and columns, at least 1; one number sets both.
  /// How pixels between the pixels of the input are computed.
  glia::interpolation interpolation = glia::interpolation::nearest;

  static constexpr std::string_view type_name = "upsample2d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() == 4, "expected images (N, H, W, C), got ", batch_text(extents));
    s.expect_value(size.height > 0 && size.width > 0, "expected a size of at least 1, got ", size);
    if (interpolation == glia::interpolation::bilinear) {
      s.expect(extents[1] > 0 && extents[2] > 0, "expected images with pixels, got ",
               batch_text(extents));
      return detail::interpolate(detail::interpolate(x, 1, size.height), 2, size.width);
    }
    const shape apart{extents[0], extents[1], 1, extents[2], 1, extents[3]};
    const shape repeated{extents[0], extents[1], size.height, extents[2], size.width, extents[3]};
    const shape out{extents[0], extents[1] * size.height, extents[2] * size.width, extents[3]};
    return ops::reshape(ops::broadcast_to(ops::reshape(std::move(x), apart), repeated), out);
  }
  [[nodiscard]] std::string description() const {
    return text("upsample2d(", size,
                interpolation == glia::interpolation::bilinear ? ", bilinear" : "", ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("size", self.size);
    bool bilinear = self.interpolation == glia::interpolation::bilinear;
    visit("bilinear", bilinear);
    if constexpr (!std::is_const_v<Self>) {
      self.interpolation = bilinear ? glia::interpolation::bilinear : glia::interpolation::nearest;
    }
  }

  friend bool operator==(const upsample2d&, const upsample2d&) = default;
};

/// Numbers of rows and columns at the four sides of images: {top, bottom, left, right}.
///
/// One number sets all four.
struct border2d {
  std::size_t top = 0;     ///< Rows above.
  std::size_t bottom = 0;  ///< Rows below.
  std::size_t left = 0;    ///< Columns on the left.
  std::size_t right = 0;   ///< Columns on the right.

  constexpr border2d(std::size_t size) : border2d(size, size, size, size) {}
  constexpr border2d(std::size_t top_rows, std::size_t bottom_rows, std::size_t left_columns,
                     std::size_t right_columns)
      : top(top_rows), bottom(bottom_rows), left(left_columns), right(right_columns) {}

  friend constexpr bool operator==(const border2d&, const border2d&) = default;
  friend std::ostream& operator<<(std::ostream& out, const border2d& b) {
    return out << b.top << '/' << b.bottom << '/' << b.left << '/' << b.right;
  }
};

/// Adds rows and columns of zeros around images.
///
/// The input is (N, H, W, C) and the output (N, H + top + bottom, W + left + right, C).
///
/// Throws `shape_error` if the input does not have four axes.
struct zero_pad2d {
  /// Rows and columns to add: one number for all sides, or {top, bottom, left, right}. PyTorch's
  /// order is left, right, top, bottom.
  border2d padding = 1;

  static constexpr std::string_view type_name = "zero_pad2d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect(x.shape().rank() == 4, "expected images (N, H, W, C), got ", batch_text(x.shape()));
    return ops::pad(
        ops::pad(std::move(x), {.axis = 1, .before = padding.top, .after = padding.bottom}),
        {.axis = 2, .before = padding.left, .after = padding.right});
  }
  [[nodiscard]] std::string description() const { return text("zero_pad2d(", padding, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("padding", self.padding);
  }

  friend bool operator==(const zero_pad2d&, const zero_pad2d&) = default;
};

/// Removes rows and columns at the sides of images.
///
/// The input is (N, H, W, C) and the output (N, H - top - bottom, W - left - right, C).
///
/// Throws `shape_error` if the input does not have four axes or if nothing would remain.
struct crop2d {
  /// Rows and columns to remove: one number for all sides, or {top, bottom, left, right}.
  border2d cropping = 0;

  static constexpr std::string_view type_name = "crop2d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    s.expect(extents.rank() == 4, "expected images (N, H, W, C), got ", batch_text(extents));
    const auto leaves = [](std::size_t extent, std::size_t leading, std::size_t trailing) {
      return leading < extent && trailing < extent - leading;
    };
    s.expect(leaves(extents[1], cropping.top, cropping.bottom) &&
                 leaves(extents[2], cropping.left, cropping.right),
             "expected a cropping that leaves a part of the images ", batch_text(extents), ", got ",
             cropping, " rows and columns (top/bottom/left/right)");
    return ops::slice(
        ops::slice(std::move(x), {.axis = 1,
                                  .begin = cropping.top,
                                  .extent = extents[1] - cropping.top - cropping.bottom}),
        {.axis = 2, .begin = cropping.left, .extent = extents[2] - cropping.left - cropping.right});
  }
  [[nodiscard]] std::string description() const { return text("crop2d(", cropping, ')'); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("cropping", self.cropping);
  }

  friend bool operator==(const crop2d&, const crop2d&) = default;
};

}  // namespace glia
