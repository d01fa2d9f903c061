#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/kernel_arguments.hpp"
#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"

// The output shape of every kernel whose output differs from its operand in shape. Each rule stands
// here once; all backends use it and so refuse the same operands with the same words.

namespace glia {

/// The shape of a op b under NumPy's broadcasting: axes are aligned at the last one, and an axis of
/// extent 1 (or absent) is repeated. Throws `shape_error` where extents disagree.
[[nodiscard]] inline shape broadcast_shape(const shape& a, const shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  shape result;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from_a = axis + a.rank() < rank ? 1 : a[axis + a.rank() - rank];
    const std::size_t from_b = axis + b.rank() < rank ? 1 : b[axis + b.rank() - rank];
    require<shape_error>(
        from_a == from_b || from_a == 1 || from_b == 1, "element-wise operation: shapes ", a,
        " and ", b, " do not broadcast: extents must be equal or 1, counted from the last axis");
    result.push_back(from_a == 1 ? from_b : from_a);
  }
  return result;
}

inline void require_broadcastable_to(const shape& from, const shape& to) {
  require<shape_error>(from.rank() <= to.rank() && broadcast_shape(from, to) == to, "shape ", from,
                       " cannot be broadcast to ", to);
}

/// The sizes of one matrix product C (m, n) = A (m, k) B (k, n), the transposes already resolved.
struct matmul_sizes {
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

[[nodiscard]] inline matmul_sizes matmul_rule(const shape& a, const shape& b, transpose which) {
  require<shape_error>(a.rank() == 2 && b.rank() == 2,
                       "matmul: expected two matrices (rank 2), got shapes ", a, " and ", b);
  const bool ta = which == transpose::first;
  const bool tb = which == transpose::second;
  const matmul_sizes sizes{a[ta ? 1 : 0], b[tb ? 0 : 1], a[ta ? 0 : 1]};
  require<shape_error>(sizes.k == b[tb ? 1 : 0], "matmul: inner extents disagree: ", a,
                       ta ? " transposed" : "", " times ", b, tb ? " transposed" : "");
  return sizes;
}

/// Where a sliding window fits: output rows or columns along one axis.
[[nodiscard]] inline std::size_t window_steps(std::size_t extent, std::size_t window,
                                              std::size_t stride, std::size_t dilation,
                                              std::size_t padding) {
  require<value_error>(window > 0 && stride > 0 && dilation > 0,
                       "window: expected size, stride and dilation of at least 1, got ", window,
                       ", ", stride, " and ", dilation);
  const std::size_t reach = (window - 1) * dilation + 1;
  require<shape_error>(extent + padding >= reach, "window: reaches over ", reach,
                       " positions, but the input has only ", extent, " and ", padding,
                       " of padding; use a smaller window, less dilation or more padding");
  return (extent + padding - reach) / stride + 1;
}

/// Everything the loops of a convolution or a pooling need to know of their sizes.
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

/// A convolution of images x (N, H, W, C) with a kernel w (height, width, C / groups, O).
[[nodiscard]] inline window_sizes conv2d_rule(const shape& x, const shape& w,
                                              const window2d& window, std::size_t groups) {
  require<shape_error>(x.rank() == 4, "conv2d: expected images (N, H, W, C), got ", x);
  require<shape_error>(x.size() > 0, "conv2d: expected at least one image, got ", x);
  require<shape_error>(w.rank() == 4 && w[0] == window.height && w[1] == window.width,
                       "conv2d: expected a kernel (", window.height, ", ", window.width,
                       ", C / groups, O), got ", w);
  require<value_error>(groups > 0 && x[3] % groups == 0 && w[3] % groups == 0,
                       "conv2d: groups must divide the channels: ", x[3], " inputs and ", w[3],
                       " outputs in ", groups, " groups");
  require<shape_error>(w[2] == x[3] / groups, "conv2d: the kernel ", w, " takes ", w[2],
                       " channels a group, but the images ", x, " in ", groups, " groups have ",
                       x[3] / groups);
  window_sizes sizes = pool_rule(x, window);
  sizes.o = w[3];
  sizes.groups = groups;
  return sizes;
}

/// Whether the chained kernels take this convolution as a link of a chain: activations that clamp;
/// behind the first, nothing but depthwise and pointwise convolutions.
[[nodiscard]] inline bool chains(const unary_map& map, const window_sizes& s, bool first) {
  const bool depthwise = s.groups == s.c && s.groups == s.o && s.groups > 1;
  const bool pointwise = s.groups == 1 && s.window == window2d{};
  return clamps(map) && s.window.height <= max_window_rows &&
         (first ? s.groups == 1 : depthwise || pointwise);
}

/// The shape of the statistics of `normalize`: (C) for batch, one a row for layer.
[[nodiscard]] inline shape statistics_shape(const shape& x, normalization kind) {
  require<shape_error>(x.rank() >= 2 && x.size() > 0,
                       "normalisation: expected a non-empty batch of at least 2 axes, got ", x);
  return {kind == normalization::batch ? x.back() : row_count(x)};
}

inline void require_same_shape(const char* what, const shape& expected, const shape& got) {
  require<shape_error>(expected == got, what, ": expected shape ", expected, ", got ", got);
}

}  // namespace glia
