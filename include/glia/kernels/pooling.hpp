#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "glia/kernels/kernel.hpp"
#include "glia/kernels/window.hpp"

namespace glia::detail {

/// Returns the number of operations of a pooling: one for each element of each window.
[[nodiscard]] inline double pool_flops(const kernels::window_sizes& s) {
  return count(s.output()) * static_cast<double>(s.window.height * s.window.width);
}

}  // namespace glia::detail

namespace glia::kernels {

/// Computes the largest value of every window of x (N, H, W, C), and its position in the window,
/// counted row by row. Padding is ignored. Of equal values, the first is selected; a NaN is
/// selected over all other values.
struct max_pool2d {
  window2d window;

  static constexpr std::string_view name = "max_pool2d";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 2;  // y, position

  [[nodiscard]] std::array<tensor_spec, 2> result(const tensor_spec& x) const {
    require_elements("max_pool2d", x, element::real);
    const shape y = pool_rule(x.shape, window).output();
    return {real_of(y), tensor_spec{y, element::index}};
  }
  [[nodiscard]] double flops(const tensor_spec& x) const {
    return detail::pool_flops(pool_rule(x.shape, window));
  }
  [[nodiscard]] static batch_axes<1, 2> axes(const tensor_spec&) {
    return detail::by_rows<max_pool2d>();
  }
  friend bool operator==(const max_pool2d&, const max_pool2d&) = default;
};

/// Computes the gradient of `max_pool2d`: adds dy at the position of each maximum, in images of
/// shape `image` (H, W, C).
struct max_pool2d_gradient {
  window2d window;
  shape image;

  static constexpr std::string_view name = "max_pool2d_gradient";
  static constexpr std::size_t operands = 2;  // dy, position
  static constexpr std::size_t results = 1;

  [[nodiscard]] window_sizes sizes(const shape& dy) const {
    return pool_rule(batch_of(dy.rank() == 0 ? 0 : dy[0], image), window);
  }
  [[nodiscard]] tensor_spec result(const tensor_spec& dy, const tensor_spec& position) const {
    const window_sizes s = sizes(dy.shape);
    require_elements("max_pool2d_gradient", dy, element::real);
    require_elements("max_pool2d_gradient: position", position, element::index);
    require_same_shape("max_pool2d_gradient", s.output(), dy.shape);
    require_same_shape("max_pool2d_gradient", s.output(), position.shape);
    return real_of(s.input());
  }
  [[nodiscard]] static double flops(const tensor_spec& dy, const tensor_spec&) {
    return detail::count(dy.shape);
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<max_pool2d_gradient>();
  }
  friend bool operator==(const max_pool2d_gradient&, const max_pool2d_gradient&) = default;
};

/// Computes the mean of every window of x (N, H, W, C). Elements in the padding are not counted.
struct avg_pool2d {
  window2d window;

  static constexpr std::string_view name = "avg_pool2d";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_elements("avg_pool2d", x, element::real);
    return real_of(pool_rule(x.shape, window).output());
  }
  [[nodiscard]] double flops(const tensor_spec& x) const {
    return detail::pool_flops(pool_rule(x.shape, window));
  }
  [[nodiscard]] static batch_axes<1, 1> axes(const tensor_spec&) {
    return detail::by_rows<avg_pool2d>();
  }
  friend bool operator==(const avg_pool2d&, const avg_pool2d&) = default;
};

/// Computes the gradient of `avg_pool2d`, for images of shape `image` (H, W, C).
struct avg_pool2d_gradient {
  window2d window;
  shape image;

  static constexpr std::string_view name = "avg_pool2d_gradient";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] window_sizes sizes(const shape& dy) const {
    return pool_rule(batch_of(dy.rank() == 0 ? 0 : dy[0], image), window);
  }
  [[nodiscard]] tensor_spec result(const tensor_spec& dy) const {
    const window_sizes s = sizes(dy.shape);
    require_elements("avg_pool2d_gradient", dy, element::real);
    require_same_shape("avg_pool2d_gradient", s.output(), dy.shape);
    return real_of(s.input());
  }
  [[nodiscard]] double flops(const tensor_spec& dy) const {
    return detail::pool_flops(sizes(dy.shape));
  }
  [[nodiscard]] static batch_axes<1, 1> axes(const tensor_spec&) {
    return detail::by_rows<avg_pool2d_gradient>();
  }
  friend bool operator==(const avg_pool2d_gradient&, const avg_pool2d_gradient&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const max_pool2d&) {
  return {.results = 0b10};
}
template <class Call>
void add_gradients(const max_pool2d& k, Call& call) {
  call.add(0, call.run(max_pool2d_gradient{k.window, sample_of(call.shape_of(0))}, call.dy(),
                       call.result(1)));
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const avg_pool2d&) { return {}; }
template <class Call>
void add_gradients(const avg_pool2d& k, Call& call) {
  call.add(0, call.run(avg_pool2d_gradient{k.window, sample_of(call.shape_of(0))}, call.dy()));
}
[[nodiscard]] constexpr saved_tensors saved_for_gradients(const avg_pool2d_gradient&) { return {}; }
template <class Call>
void add_gradients(const avg_pool2d_gradient& k, Call& call) {
  call.add(0, call.run(avg_pool2d{k.window}, call.dy()));
}

}  // namespace glia::kernels
