#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/layers/window3d.hpp"
#include "glia/ops/pooling.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Pools volumes (N, D, H, W, C) with the image pooling `pool`: first the rows and columns of each
/// frame, then the frames.
template <class Pool>
[[nodiscard]] variable pool_volumes(variable x, const window3d& window, const Pool& pool) {
  const shape v = x.shape();
  const variable frames = pool(as_frames(std::move(x)), window.frame);
  const shape f = frames.shape();
  const variable y = pool(ops::reshape(frames, {v[0], v[1], f[1] * f[2], v[4]}), window.depth);
  return ops::reshape(y, {v[0], y.shape()[1], f[1], f[2], v[4]});
}

/// Returns a pooling layer's window on volumes. Throws if the window does not fit. Also throws if
/// the padding is not smaller than the window, because a window could then lie entirely in the
/// padding.
[[nodiscard]] inline window3d pool_window3d(const scope& s, const shape& x, extent3d size,
                                            extent3d strides, const padding3d& padding) {
  const extent3d steps{strides.depth == 0 ? size.depth : strides.depth,
                       strides.height == 0 ? size.height : strides.height,
                       strides.width == 0 ? size.width : strides.width};
  const window3d window = window_on_volume(s, x, "pool_size", size, steps, 1, padding);
  const window2d& frame = window.frame;
  s.expect_value(window.depth.pad_top < size.depth && window.depth.pad_bottom < size.depth &&
                     frame.pad_top < size.height && frame.pad_bottom < size.height &&
                     frame.pad_left < size.width && frame.pad_right < size.width,
                 "expected padding smaller than the pool_size, got ", padding,
                 "; otherwise a window could lie entirely in the padding");
  return window;
}

[[nodiscard]] inline std::string describe_pool3d(std::string_view name, extent3d size,
                                                 extent3d strides, const padding3d& padding) {
  return text(name, '(', size, ", ", padding,
              strides == 0 || strides == size ? "" : text(", stride ", strides), ')');
}

}  // namespace detail

/// Max pooling of volumes: the output holds the maximum of each window.
///
/// The input is (N, D, H, W, C) and the output (N, D', H', W', C). D' is ceil(D / stride) for
/// padding `same`, and otherwise floor((D + padding in front and at the back - window frames) /
/// stride) + 1. The formulas for the rows H' and columns W' are the same. Padding is never the
/// maximum.
///
/// Throws `shape_error` if the input does not have five axes or, with its padding, is smaller than
/// the window. Throws `value_error` if `pool_size` is 0 or the padding is not smaller than the
/// window.
struct max_pool3d {
  /// Frames, rows and columns of the window, at least 1; one number sets all.
  extent3d pool_size = 2;
  /// Frames, rows and columns from one window to the next; 0 means the size of the window.
  extent3d strides = 0;
  /// Padding around the volumes: `valid` (none), `same` (for an output of ceil(size / stride)
  /// frames, rows and columns), a number for each side, {frames, rows, columns} for opposite sides,
  /// or {front, back, top, bottom, left, right}.
  padding3d padding = valid;

  static constexpr std::string_view type_name = "max_pool3d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const detail::window3d w = detail::pool_window3d(s, x.shape(), pool_size, strides, padding);
    return detail::pool_volumes(std::move(x), w, [](variable images, const window2d& window) {
      return ops::max_pool2d(std::move(images), window);
    });
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool3d(type_name, pool_size, strides, padding);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("pool_size", self.pool_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
  }

  friend bool operator==(const max_pool3d&, const max_pool3d&) = default;
};

/// Average pooling of volumes: the output holds the mean of each window.
///
/// The input is (N, D, H, W, C) and the output (N, D', H', W', C). D' is ceil(D / stride) for
/// padding `same`, and otherwise floor((D + padding in front and at the back - window frames) /
/// stride) + 1. The formulas for the rows H' and columns W' are the same. Means exclude padding, as
/// in Keras; PyTorch includes it by default.
///
/// Throws `shape_error` if the input does not have five axes or, with its padding, is smaller than
/// the window. Throws `value_error` if `pool_size` is 0 or the padding is not smaller than the
/// window.
struct avg_pool3d {
  /// Frames, rows and columns of the window, at least 1; one number sets all.
  extent3d pool_size = 2;
  /// Frames, rows and columns from one window to the next; 0 means the size of the window.
  extent3d strides = 0;
  /// Padding around the volumes: `valid` (none), `same` (for an output of ceil(size / stride)
  /// frames, rows and columns), a number for each side, {frames, rows, columns} for opposite sides,
  /// or {front, back, top, bottom, left, right}.
  padding3d padding = valid;

  static constexpr std::string_view type_name = "avg_pool3d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const detail::window3d w = detail::pool_window3d(s, x.shape(), pool_size, strides, padding);
    // The mean over the frames of means is the mean over the window: all frames under a window have
    // equally many elements that are not padding.
    return detail::pool_volumes(std::move(x), w, [](variable images, const window2d& window) {
      return ops::avg_pool2d(std::move(images), window);
    });
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool3d(type_name, pool_size, strides, padding);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("pool_size", self.pool_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
  }

  friend bool operator==(const avg_pool3d&, const avg_pool3d&) = default;
};

/// Global max pooling of volumes: the maximum of each channel over all positions.
///
/// The input is (N, D, H, W, C) and the output (N, C). Throws `shape_error` if the input does not
/// have five axes.
struct global_max_pool3d {
  static constexpr std::string_view type_name = "global_max_pool3d";

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    const shape v = x.shape();
    s.expect(v.rank() == 5, "expected volumes (N, D, H, W, C), got ", batch_text(v));
    const window2d whole{.height = v[1] * v[2], .width = v[3]};
    variable images = ops::reshape(std::move(x), {v[0], whole.height, whole.width, v[4]});
    return ops::reshape(ops::max_pool2d(std::move(images), whole), {v[0], v[4]});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_max_pool3d&, const global_max_pool3d&) = default;
};

/// Global average pooling of volumes: the mean of each channel over all positions.
///
/// The input is (N, D, H, W, C) and the output (N, C). Throws `shape_error` if the input does not
/// have five axes.
struct global_avg_pool3d {
  static constexpr std::string_view type_name = "global_avg_pool3d";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect(x.shape().rank() == 5, "expected volumes (N, D, H, W, C), got ",
             batch_text(x.shape()));
    return ops::mean(x, {1, 2, 3});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_avg_pool3d&, const global_avg_pool3d&) = default;
};

}  // namespace glia
