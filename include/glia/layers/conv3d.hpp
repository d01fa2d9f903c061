#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/layers/activation.hpp"
#include "glia/layers/scope.hpp"
#include "glia/layers/window3d.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Gathers the frames of volumes x (N, D, H, W, C) under each of `positions` positions of a window
/// of K frames. Returns (N * positions, H, W, K * C): the channels of an image are those of K
/// frames.
[[nodiscard]] inline variable gather_frames(variable x, const window2d& window,
                                            std::size_t positions) {
  const shape v = x.shape();
  const std::size_t padded = v[1] + window.pad_top + window.pad_bottom;
  const std::size_t stride = std::min(window.stride_height, padded);
  const std::size_t reach = (window.height - 1) * window.dilation_height;
  // Frames in groups of `stride`: a frame of the window is at the same place of successive groups.
  const std::size_t groups = std::max((padded + stride - 1) / stride, reach / stride + positions);
  const std::size_t after = groups * stride - v[1] - window.pad_top;
  if (window.pad_top > 0 || after > 0) {
    x = ops::pad(std::move(x), {.axis = 1, .before = window.pad_top, .after = after});
  }
  x = ops::reshape(std::move(x), {v[0], groups, stride, v[2] * v[3] * v[4]});
  std::vector<variable> frames;
  frames.reserve(window.height);
  for (std::size_t k = 0; k < window.height; ++k) {
    const std::size_t offset = k * window.dilation_height;
    variable frame = ops::slice(x, {.axis = 1, .begin = offset / stride, .extent = positions});
    frame = ops::slice(std::move(frame), {.axis = 2, .begin = offset % stride});
    frames.push_back(ops::reshape(std::move(frame), {v[0] * positions, v[2], v[3], v[4]}));
  }
  return ops::concat(frames, 3);
}

}  // namespace detail

/// A three-dimensional convolution of volumes, such as scans or the frames of videos.
///
///     y = activation(x * kernel + bias)
///
/// The input x is (N, D, H, W, C): N samples, D frames (the depth), H rows, W columns, C channels.
/// The output y is (N, D', H', W', O) with O = `filters`. The parameters are `kernel` (kernel
/// frames, kernel rows, kernel columns, C, O) and `bias` (O). The operation * is a
/// cross-correlation, as in Keras and PyTorch: the kernel is not mirrored.
///
/// The kernel spans R = (kernel frames - 1) * dilation_rate + 1 frames. The number of output frames
/// D' is ceil(D / strides) for padding `same`, and otherwise floor((D + padding in front and at the
/// back - R) / strides) + 1. The formulas for the rows H' and columns W' are the same.
///
/// The layer joins the frames under each position of the kernel to an image with K C channels, for
/// K kernel frames, and convolves these images. They need K times the memory of the input.
///
/// Throws `shape_error` if the input does not have five axes, or if the padded input is smaller
/// than the kernel. Throws `value_error` if `filters` or `kernel_size` is missing, or if a size is
/// 0.
struct conv3d {
  std::size_t filters = 0;  ///< Number of output channels O, at least 1. Required.
  /// Frames, rows and columns of the kernel, at least 1 each; one number sets all. Required.
  extent3d kernel_size = 0;
  /// Frames, rows and columns from one kernel position to the next, at least 1; one number sets
  /// all.
  extent3d strides = 1;
  /// Zeros around the volumes: `valid` (none), `same` (for an output of ceil(size / strides)
  /// frames, rows and columns), a number for each side, {frames, rows, columns} for opposite sides,
  /// or {front, back, top, bottom, left, right}.
  padding3d padding = valid;
  /// Distance between neighboring kernel elements in the volume, at least 1; 1 means no gaps.
  /// Unlike in Keras, it can be combined with strides.
  extent3d dilation_rate = 1;
  glia::activation activation = linear;               ///< Activation function of the output.
  bool use_bias = true;                               ///< Whether a bias is added.
  initializer kernel_initializer = glorot_uniform();  ///< Initial values of the kernel.
  initializer bias_initializer = constant(0);         ///< Initial values of the bias.

  static constexpr std::string_view type_name = "conv3d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape extents = x.shape();
    const detail::window3d window = detail::window_on_volume(s, extents, "kernel_size", kernel_size,
                                                             strides, dilation_rate, padding);
    s.expect_value(filters > 0, "expected at least 1 filter");
    s.expect_value(filters > 1 || !activation.over_last_axis, "a ", activation.name,
                   " over 1 filter is always 1; use sigmoid, or at least 2 filters");
    const variable weights = s.parameter(
        "kernel", {kernel_size.depth, kernel_size.height, kernel_size.width, extents[4], filters},
        kernel_initializer);
    std::optional<variable> shift;
    if (use_bias) {
      shift = s.parameter("bias", {filters}, bias_initializer);
    }
    const variable kernel = ops::reshape(
        ops::permute(weights, {1, 2, 0, 3, 4}),
        {kernel_size.height, kernel_size.width, kernel_size.depth * extents[4], filters});
    const std::size_t depth = kernels::window_steps(
        extents[1], window.depth.height, window.depth.stride_height, window.depth.dilation_height,
        window.depth.pad_top + window.depth.pad_bottom);
    variable y = ops::conv2d(detail::gather_frames(std::move(x), window.depth, depth), kernel,
                             shift, window.frame);
    return activation(detail::as_volumes(std::move(y), depth));
  }

  [[nodiscard]] constexpr glia::output_kind output_kind() const { return activation.output_kind(); }
  [[nodiscard]] std::string description() const {
    std::string result = text("conv3d(", filters, ", ", kernel_size, ", ", padding);
    result += strides == 1 ? "" : text(", stride ", strides);
    result += dilation_rate == 1 ? "" : text(", dilation ", dilation_rate);
    result += activation == linear ? "" : text(", ", activation);
    return result + ")";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("filters", self.filters);
    visit("kernel_size", self.kernel_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
    visit("dilation_rate", self.dilation_rate);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
  }

  friend bool operator==(const conv3d&, const conv3d&) = default;
};

}  // namespace glia
