#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/layers/window1d.hpp"
#include "glia/ops/counting.hpp"
#include "glia/ops/pooling.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

namespace detail {

/// Runs a pooling of images on sequences (N, T, C), each as a row.
template <backend B, class Pool>
[[nodiscard]] variable<B> pool_rows(variable<B> x, const window2d& window, const Pool& pool) {
  const shape row = as_row(x.shape());
  variable<B> y = pool(ops::reshape(std::move(x), row), window);
  const shape out = without_row(y.shape());
  return ops::reshape(std::move(y), out);
}

/// A pool's window on a sequence; padding smaller than it, so that it never lies outside.
template <backend B>
[[nodiscard]] window2d pool_window1d(const scope<B>& s, const shape& x, std::size_t size,
                                     std::size_t stride, const padding1d& padding) {
  const window2d window =
      window_on_row(s, x, "window", size, stride == 0 ? size : stride, 1, padding);
  s.expect_value(window.pad_left < size && window.pad_right < size,
                 "padding must be smaller than the window, which could otherwise lie outside the "
                 "sequence altogether");
  return window;
}

[[nodiscard]] inline std::string describe_pool1d(std::string_view name, std::size_t size,
                                                 std::size_t stride, const padding1d& padding) {
  return text(name, '(', size, ", ", padding,
              stride == 0 || stride == size ? "" : text(", stride ", stride), ')');
}

}  // namespace detail

/// The maximum of every window of x (N, T, C). Padding never wins.
///
/// Throws `shape_error` for inputs that are no sequences or shorter than the window.
struct max_pool1d {
  std::size_t window = 2;
  std::size_t stride = 0;  ///< 0: as long as the window
  padding1d padding = valid;

  static constexpr std::string_view type_name = "max_pool1d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const window2d w = detail::pool_window1d(s, x.shape(), window, stride, padding);
    return detail::pool_rows(std::move(x), w, [](variable<B> row, const window2d& of) {
      return ops::max_pool2d(std::move(row), of);
    });
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool1d(type_name, window, stride, padding);
  }
  friend bool operator==(const max_pool1d&, const max_pool1d&) = default;
};

/// The mean of every window of x (N, T, C); padding does not count, as in Keras.
///
/// Throws `shape_error` for inputs that are no sequences or shorter than the window.
struct avg_pool1d {
  std::size_t window = 2;
  std::size_t stride = 0;  ///< 0: as long as the window
  padding1d padding = valid;

  static constexpr std::string_view type_name = "avg_pool1d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const window2d w = detail::pool_window1d(s, x.shape(), window, stride, padding);
    return detail::pool_rows(std::move(x), w, [](variable<B> row, const window2d& of) {
      return ops::avg_pool2d(std::move(row), of);
    });
  }
  [[nodiscard]] std::string description() const {
    return detail::describe_pool1d(type_name, window, stride, padding);
  }
  friend bool operator==(const avg_pool1d&, const avg_pool1d&) = default;
};

/// The maximum of every channel: (N, T, C) to (N, C).
struct global_max_pool1d {
  static constexpr std::string_view type_name = "global_max_pool1d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    const shape in = x.shape();
    s.expect(in.rank() == 3 && in[1] > 0, "expected sequences (N, T, C), got ", batch_text(in));
    const window2d whole{.height = 1, .width = in[1]};
    variable<B> y = ops::max_pool2d(ops::reshape(std::move(x), detail::as_row(in)), whole);
    return ops::reshape(std::move(y), {in[0], in[2]});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_max_pool1d&, const global_max_pool1d&) = default;
};

/// The mean of every channel, over the steps that count: (N, T, C) to (N, C).
struct global_avg_pool1d {
  static constexpr std::string_view type_name = "global_avg_pool1d";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    s.expect(x.shape().rank() == 3, "expected sequences (N, T, C), got ", batch_text(x.shape()));
    if (const auto& mask = s.step_mask()) {
      const B& device = s.device();
      const shape in = x.shape();
      const auto shares = device.run(kernels::binary{binary_function::divide}, mask,
                                     detail::count_of_ones(device, mask));
      const auto of_steps = device.run(kernels::reshape{{in[0], in[1], 1}}, shares);
      return ops::sum(std::move(x) * of_steps, {1});
    }
    return ops::mean(std::move(x), {1});
  }
  [[nodiscard]] std::string description() const { return std::string(type_name); }
  friend bool operator==(const global_avg_pool1d&, const global_avg_pool1d&) = default;
};

}  // namespace glia
