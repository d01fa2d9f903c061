#pragma once

#include <cstddef>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// A window of height x width that moves over a tensor (N, H, W, C): its strides, dilation and
/// padding. Padding is given in rows and columns; callers convert `same` and `valid` to these
/// numbers.
struct window2d {
  std::size_t height = 1;
  std::size_t width = 1;
  std::size_t stride_height = 1;
  std::size_t stride_width = 1;
  std::size_t dilation_height = 1;
  std::size_t dilation_width = 1;
  std::size_t pad_top = 0;
  std::size_t pad_bottom = 0;
  std::size_t pad_left = 0;
  std::size_t pad_right = 0;

  friend constexpr bool operator==(const window2d&, const window2d&) = default;
};

namespace kernels {

/// Returns whether the input is padded.
[[nodiscard]] constexpr bool is_padded(const window2d& k) {
  return k.pad_top + k.pad_bottom + k.pad_left + k.pad_right > 0;
}

/// Largest number of rows of a window in the loops for depthwise convolutions, and in chains of
/// convolutions.
inline constexpr std::size_t max_window_rows = 16;

/// Returns the number of positions of a window along one axis: the output's rows or columns.
[[nodiscard]] inline std::size_t window_steps(std::size_t extent, std::size_t window,
                                              std::size_t stride, std::size_t dilation,
                                              std::size_t padding) {
  require<value_error>(window > 0 && stride > 0 && dilation > 0,
                       "window: expected size, stride and dilation of at least 1, got ", window,
                       ", ", stride, " and ", dilation);
  const std::size_t reach = (window - 1) * dilation + 1;
  require<shape_error>(extent + padding >= reach, "window: the window covers ", reach,
                       " positions, but the input has only ", extent, " and ", padding,
                       " of padding; use a smaller window, less dilation or more padding");
  return (extent + padding - reach) / stride + 1;
}

/// The sizes that loops of convolutions and poolings need.
struct window_sizes {
  std::size_t n;       ///< images
  std::size_t h;       ///< input rows
  std::size_t w;       ///< input columns
  std::size_t c;       ///< input channels
  std::size_t oh;      ///< output rows
  std::size_t ow;      ///< output columns
  std::size_t o;       ///< output channels
  std::size_t groups;  ///< channel groups
  window2d window;

  [[nodiscard]] shape input() const { return {n, h, w, c}; }
  [[nodiscard]] shape output() const { return {n, oh, ow, o}; }
  [[nodiscard]] shape weights() const { return {window.height, window.width, group_inputs(), o}; }
  [[nodiscard]] std::size_t group_inputs() const noexcept { return c / groups; }
  [[nodiscard]] std::size_t group_outputs() const noexcept { return o / groups; }
};

[[nodiscard]] inline window_sizes pool_rule(const shape& x, const window2d& window) {
  require<shape_error>(x.rank() == 4, "pooling: expected images (N, H, W, C), got ", x);
  require<shape_error>(x.size() > 0, "pooling: expected at least one image, got ", x);
  const std::size_t oh = window_steps(x[1], window.height, window.stride_height,
                                      window.dilation_height, window.pad_top + window.pad_bottom);
  const std::size_t ow = window_steps(x[2], window.width, window.stride_width,
                                      window.dilation_width, window.pad_left + window.pad_right);
  return {x[0], x[1], x[2], x[3], oh, ow, x[3], 1, window};
}

}  // namespace kernels

}  // namespace glia
