#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/layers/window.hpp"
#include "glia/ops/pooling.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// What a pooling layer's window looks like on these images; throws if it does not fit.
template <backend B>
[[nodiscard]] window2d pool_window(const scope<B>& s, const shape& x, extent2d size,
                                   extent2d stride, const padding2d& padding) {
  s.expect(x.rank() == 4, "expected images (N, H, W, C), got ", batch_text(x));
  if (size.height > 1 || size.width == 1) {  // not along rows alone; see conv2d
    s.expect_channels_last(x);
  }
  s.expect_value(size.height > 0 && size.width > 0, "expected a window of at least 1x1");
  const extent2d step{stride.height == 0 ? size.height : stride.height,
                      stride.width == 0 ? size.width : stride.width};
  const window2d window = resolve_window(x, size, step, 1, padding);
  s.expect_value(within_largest_window(window), "expected a window, stride and padding of at most ",
                 largest_window);
  s.expect(
      x[1] + window.pad_top + window.pad_bottom >= size.height &&
          x[2] + window.pad_left + window.pad_right >= size.width,
      "the window is larger than the padded input ", batch_text(x),
      "; images are (N, H, W, C), channels last; if these are, use a smaller window or padding "
      "same");
  s.expect_value(window.pad_top < size.height && window.pad_bottom < size.height &&
                     window.pad_left < size.width && window.pad_right < size.width,
                 "padding must be smaller than the window, which could otherwise lie outside the "
                 "image altogether");
  return window;
}

[[nodiscard]] inline std::string describe_pool(std::string_view name, extent2d size,
                                               extent2d stride, const padding2d& padding) {
  return text(name, '(', size, ", ", padding,
              stride == 0 || stride == size ? "" : text(", stride ", stride), ')');
}

}  // namespace detail

/// The maximum of every window of x (N, H, W, C). Padding never wins.
///
/// Throws `shape_error` for inputs that are no images or smaller than the window.
struct max_pool2d {
  extent2d window = 2;
  extent2d stride = 0;  ///< 0: as large as the window
  padding2d padding = valid;

  static constexpr std::string_view type_name = "max_pool2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const window2d w = window_on(s, x.shape());
    return ops::max_pool2d(std::move(x), w);
  }
  /// What its window looks like on these images; throws if it does not fit.
  template <backend B>
  [[nodiscard]] window2d window_on(const scope<B>& s, const shape& x) const {
    return detail::pool_window(s, x, window, stride, padding);
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool(type_name, window, stride, padding);
  }
  friend bool operator==(const max_pool2d&, const max_pool2d&) = default;
};

/// The mean of every window of x (N, H, W, C); padding does not count, as in Keras.
///
/// Throws `shape_error` for inputs that are no images or smaller than the window.
struct avg_pool2d {
  extent2d window = 2;
  extent2d stride = 0;  ///< 0: as large as the window
  padding2d padding = valid;

  static constexpr std::string_view type_name = "avg_pool2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const window2d w = detail::pool_window(s, x.shape(), window, stride, padding);
    return ops::avg_pool2d(std::move(x), w);
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool(type_name, window, stride, padding);
  }
  friend bool operator==(const avg_pool2d&, const avg_pool2d&) = default;
};

/// The maximum of every channel: (N, H, W, C) to (N, C).
struct global_max_pool2d {
  static constexpr std::string_view type_name = "global_max_pool2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() == 4, "expected images (N, H, W, C), got ", batch_text(in));
    const window2d whole{.height = in[1], .width = in[2]};
    return ops::reshape(ops::max_pool2d(std::move(x), whole), {in[0], in[3]});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_max_pool2d&, const global_max_pool2d&) = default;
};

/// The mean of every channel: (N, H, W, C) to (N, C).
struct global_avg_pool2d {
  static constexpr std::string_view type_name = "global_avg_pool2d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect(x.shape().rank() == 4, "expected images (N, H, W, C), got ", batch_text(x.shape()));
    return ops::mean(std::move(x), {1, 2});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_avg_pool2d&, const global_avg_pool2d&) = default;
};

}  // namespace glia
