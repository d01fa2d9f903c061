#pragma once

#include <concepts>
#include <cstddef>
#include <ostream>
#include <string_view>

#include "glia/core/shape.hpp"
#include "glia/kernels/window.hpp"

namespace glia {

/// A number of rows and a number of columns: {3, 5}. One number sets both: 3 is {3, 3}.
struct extent2d {
  std::size_t height;  ///< Number of rows.
  std::size_t width;   ///< Number of columns.

  constexpr extent2d(std::size_t both) : height(both), width(both) {}
  constexpr extent2d(std::size_t rows, std::size_t columns) : height(rows), width(columns) {}

  friend constexpr bool operator==(const extent2d&, const extent2d&) = default;
  friend std::ostream& operator<<(std::ostream& out, const extent2d& e) {
    return out << e.height << 'x' << e.width;
  }
};

/// The padding of images: `same`, `valid`, or numbers of rows and columns.
///
/// One number pads all four sides; four numbers are top, bottom, left and right.
struct padding2d {
  enum class mode : std::uint8_t { valid, same, numbers };

  mode kind = mode::numbers;
  std::size_t top = 0;
  std::size_t bottom = 0;
  std::size_t left = 0;
  std::size_t right = 0;

  template <std::convertible_to<std::string_view> Text>
  constexpr padding2d(const Text&) {
    static_assert(!std::convertible_to<Text, std::string_view>,
                  "expected a padding, got a string: write glia::same instead of \"same\", or "
                  "glia::valid instead of \"valid\"");
  }
  constexpr padding2d(mode padding_mode) : kind(padding_mode) {}
  constexpr padding2d(std::size_t size) : top(size), bottom(size), left(size), right(size) {}
  constexpr padding2d(std::size_t top_rows, std::size_t bottom_rows, std::size_t left_columns,
                      std::size_t right_columns)
      : top(top_rows), bottom(bottom_rows), left(left_columns), right(right_columns) {}

  friend constexpr bool operator==(const padding2d&, const padding2d&) = default;
  friend std::ostream& operator<<(std::ostream& out, const padding2d& p) {
    switch (p.kind) {
      case mode::valid:
        return out << "valid";
      case mode::same:
        return out << "same";
      default:
        return out << "padding " << p.top << '/' << p.bottom << '/' << p.left << '/' << p.right;
    }
  }
};

/// No padding: every window lies entirely inside the image or sequence.
inline constexpr padding2d valid{padding2d::mode::valid};
/// Padding for an output of ceil(size / stride) rows and columns. If the number of padding rows or
/// columns is odd, the additional one is at the bottom or right, as in TensorFlow.
inline constexpr padding2d same{padding2d::mode::same};

namespace detail {

/// The largest size, stride, dilation and padding of a window. Larger values are usually negative
/// numbers converted to unsigned ones, and their sums could overflow.
inline constexpr std::size_t largest_window = 1 << 20;

/// Returns whether all numbers of a window are at most `largest_window`.
[[nodiscard]] constexpr bool within_largest_window(const window2d& w) {
  for (const std::size_t extent :
       {w.height, w.width, w.stride_height, w.stride_width, w.dilation_height, w.dilation_width,
        w.pad_top, w.pad_bottom, w.pad_left, w.pad_right}) {
    if (extent > largest_window) {
      return false;
    }
  }
  return true;
}

/// Returns a window for images of shape x (N, H, W, C), with the padding as numbers of rows and
/// columns.
[[nodiscard]] constexpr window2d resolve_window(const shape& x, extent2d size, extent2d stride,
                                                extent2d dilation, const padding2d& padding) {
  window2d w{size.height,    size.width,  stride.height,  stride.width, dilation.height,
             dilation.width, padding.top, padding.bottom, padding.left, padding.right};
  if (padding.kind == padding2d::mode::same) {
    const auto total = [](std::size_t extent, std::size_t window, std::size_t step,
                          std::size_t spread) {
      const std::size_t reach = (window - 1) * spread + 1;
      const std::size_t outputs = (extent + step - 1) / step;
      const std::size_t needed = outputs == 0 ? 0 : (outputs - 1) * step + reach;
      return needed > extent ? needed - extent : 0;
    };
    const std::size_t rows = total(x[1], size.height, stride.height, dilation.height);
    const std::size_t columns = total(x[2], size.width, stride.width, dilation.width);
    w.pad_top = rows / 2;
    w.pad_bottom = rows - rows / 2;
    w.pad_left = columns / 2;
    w.pad_right = columns - columns / 2;
  }
  return w;
}

}  // namespace detail

}  // namespace glia
