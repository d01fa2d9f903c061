#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// Enlarges images by repeating rows and columns (nearest-neighbor interpolation).
///
/// The input is (N, H, W, C) and the output (N, H * size.height, W * size.width, C).
///
/// Throws `shape_error` if the input does not have four axes, and `value_error` if `size` is 0.
struct upsample2d {
  extent2d size = 2;  ///< Factors for rows and columns, at least 1; one number sets both.

  static constexpr std::string_view type_name = "upsample2d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape in = x.shape();
    s.expect(in.rank() == 4, "expected images (N, H, W, C), got ", batch_text(in));
    s.expect_value(size.height > 0 && size.width > 0, "expected a size of at least 1, got ", size);
    const shape apart{in[0], in[1], 1, in[2], 1, in[3]};
    const shape repeated{in[0], in[1], size.height, in[2], size.width, in[3]};
    const shape out{in[0], in[1] * size.height, in[2] * size.width, in[3]};
    return ops::reshape(ops::broadcast_to(ops::reshape(std::move(x), apart), repeated), out);
  }
  [[nodiscard]] std::string description() const { return text("upsample2d(", size, ')'); }
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

  constexpr border2d(std::size_t all) : border2d(all, all, all, all) {}
  constexpr border2d(std::size_t above, std::size_t below, std::size_t before, std::size_t after)
      : top(above), bottom(below), left(before), right(after) {}

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
    const shape in = x.shape();
    s.expect(in.rank() == 4, "expected images (N, H, W, C), got ", batch_text(in));
    const auto leaves = [](std::size_t extent, std::size_t before, std::size_t after) {
      return before < extent && after < extent - before;
    };
    s.expect(leaves(in[1], cropping.top, cropping.bottom) &&
                 leaves(in[2], cropping.left, cropping.right),
             "expected a cropping that leaves a part of the images ", batch_text(in), ", got ",
             cropping, " rows and columns (top/bottom/left/right)");
    return ops::slice(
        ops::slice(
            std::move(x),
            {.axis = 1, .begin = cropping.top, .extent = in[1] - cropping.top - cropping.bottom}),
        {.axis = 2, .begin = cropping.left, .extent = in[2] - cropping.left - cropping.right});
  }
  [[nodiscard]] std::string description() const { return text("crop2d(", cropping, ')'); }
  friend bool operator==(const crop2d&, const crop2d&) = default;
};

}  // namespace glia
