#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// A number of frames, a number of rows and a number of columns: {3, 5, 5}. One number sets all
/// three: 3 is {3, 3, 3}.
struct extent3d {
  std::size_t depth;   ///< Number of frames.
  std::size_t height;  ///< Number of rows.
  std::size_t width;   ///< Number of columns.

  constexpr extent3d(std::size_t size) : depth(size), height(size), width(size) {}
  constexpr extent3d(std::size_t frames, std::size_t rows, std::size_t columns)
      : depth(frames), height(rows), width(columns) {}

  friend constexpr bool operator==(const extent3d&, const extent3d&) = default;
  friend std::ostream& operator<<(std::ostream& out, const extent3d& e) {
    return out << e.depth << 'x' << e.height << 'x' << e.width;
  }
};

/// The padding of volumes: `same`, `valid`, or numbers of frames, rows and columns.
///
/// One number pads all six sides. Three numbers are the frames, rows and columns at each of two
/// opposite sides, as in PyTorch. Six numbers are front, back, top, bottom, left and right.
struct padding3d {
  enum class mode : std::uint8_t { no_padding, same_size, numbers };

  mode kind = mode::numbers;
  std::size_t front = 0;
  std::size_t back = 0;
  std::size_t top = 0;
  std::size_t bottom = 0;
  std::size_t left = 0;
  std::size_t right = 0;

  template <std::convertible_to<std::string_view> Text>
  constexpr padding3d(const Text&) {
    static_assert(!std::convertible_to<Text, std::string_view>,
                  "expected a padding, got a string: write glia::same instead of \"same\", or "
                  "glia::valid instead of \"valid\"");
  }
  constexpr padding3d(mode padding_mode) : kind(padding_mode) {}
  constexpr padding3d(std::size_t size) : padding3d(size, size, size) {}
  constexpr padding3d(std::size_t frames, std::size_t rows, std::size_t columns)
      : padding3d(frames, frames, rows, rows, columns, columns) {}
  constexpr padding3d(std::size_t front_frames, std::size_t back_frames, std::size_t top_rows,
                      std::size_t bottom_rows, std::size_t left_columns, std::size_t right_columns)
      : front(front_frames),
        back(back_frames),
        top(top_rows),
        bottom(bottom_rows),
        left(left_columns),
        right(right_columns) {}
  /// Converts the padding of images: `same` and `valid` keep their meaning. Numbers pad rows and
  /// columns, and add no frames.
  constexpr padding3d(const padding2d& images)
      : kind(images.kind == padding2d::mode::valid  ? mode::no_padding
             : images.kind == padding2d::mode::same ? mode::same_size
                                                    : mode::numbers),
        top(images.top),
        bottom(images.bottom),
        left(images.left),
        right(images.right) {}

  friend constexpr bool operator==(const padding3d&, const padding3d&) = default;
  friend std::ostream& operator<<(std::ostream& out, const padding3d& p) {
    switch (p.kind) {
      case mode::no_padding:
        return out << "valid";
      case mode::same_size:
        return out << "same";
      default:
        return out << "padding " << p.front << '/' << p.back << '/' << p.top << '/' << p.bottom
                   << '/' << p.left << '/' << p.right;
    }
  }
};

namespace detail {

/// A window on volumes, with the padding as numbers: the window on the rows and columns of each
/// frame, and the window on the frames, whose height counts frames and whose width is 1.
struct window3d {
  window2d frame;
  window2d depth;
};

/// Returns a window on volumes x (N, D, H, W, C). Throws `value_error` if a number is invalid, and
/// `shape_error` if the window does not fit the padded volumes. Error messages call the size of the
/// window `option`.
[[nodiscard]] inline window3d window_on_volume(const scope& s, const shape& x,
                                               std::string_view option, extent3d size,
                                               extent3d strides, extent3d dilation,
                                               const padding3d& padding) {
  s.expect(x.rank() == 5, "expected volumes (N, D, H, W, C), got ", batch_text(x),
           "; add reshape{{D, H, W, C}} before it");
  const auto positive = [](extent3d e) { return e.depth > 0 && e.height > 0 && e.width > 0; };
  s.expect_value(positive(size), "expected a ", option, " of at least 1x1x1, got ", size);
  s.expect_value(positive(strides) && positive(dilation),
                 "expected strides and dilation_rate of at least 1");
  padding2d around_frame{padding.top, padding.bottom, padding.left, padding.right};
  padding2d around_depth{padding.front, padding.back, 0, 0};
  if (padding.kind == padding3d::mode::same_size) {
    around_frame = same;
    around_depth = same;
  }
  const window3d window{resolve_window({x[0], x[2], x[3], x[4]}, {size.height, size.width},
                                       {strides.height, strides.width},
                                       {dilation.height, dilation.width}, around_frame),
                        resolve_window({x[0], x[1], 1, x[4]}, {size.depth, 1}, {strides.depth, 1},
                                       {dilation.depth, 1}, around_depth)};
  s.expect_value(within_largest_window(window.frame) && within_largest_window(window.depth),
                 "expected ", option, ", strides, dilation_rate and padding of at most ",
                 largest_window);
  s.expect(x[1] + window.depth.pad_top + window.depth.pad_bottom >=
                   (size.depth - 1) * dilation.depth + 1 &&
               x[2] + window.frame.pad_top + window.frame.pad_bottom >=
                   (size.height - 1) * dilation.height + 1 &&
               x[3] + window.frame.pad_left + window.frame.pad_right >=
                   (size.width - 1) * dilation.width + 1,
           "the ", option, " is larger than the padded input ", batch_text(x),
           "; use a smaller one or .padding = same, and check that the volumes are (N, D, H, W, "
           "C), channels last");
  return window;
}

/// Returns the frames of volumes (N, D, H, W, C) as images, (N * D, H, W, C).
[[nodiscard]] inline variable as_frames(variable x) {
  const shape v = x.shape();
  return ops::reshape(std::move(x), {v[0] * v[1], v[2], v[3], v[4]});
}

/// Returns images (N * D, H, W, C) as volumes of D frames, (N, D, H, W, C).
[[nodiscard]] inline variable as_volumes(variable frames, std::size_t depth) {
  const shape f = frames.shape();
  return ops::reshape(std::move(frames), {f[0] / depth, depth, f[1], f[2], f[3]});
}

}  // namespace detail

}  // namespace glia
