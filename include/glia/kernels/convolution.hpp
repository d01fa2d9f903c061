#pragma once

#include <cstddef>
#include <string_view>

#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/kernels/products.hpp"
#include "glia/kernels/window.hpp"

namespace glia {

namespace kernels {

/// Returns the sizes of a convolution of images x (N, H, W, C) with weights w (height, width, C /
/// groups, O). Throws `shape_error` or `value_error` if they do not fit.
[[nodiscard]] inline window_sizes conv2d_rule(const shape& x, const shape& w,
                                              const window2d& window, std::size_t groups) {
  require<shape_error>(x.rank() == 4, "conv2d: expected images (N, H, W, C), got ", x);
  require<shape_error>(x.size() > 0, "conv2d: expected at least one image, got ", x);
  require<shape_error>(w.rank() == 4 && w[0] == window.height && w[1] == window.width,
                       "conv2d: expected a kernel (", window.height, ", ", window.width,
                       ", C / groups, O), got ", w);
  require<value_error>(groups > 0 && x[3] % groups == 0 && w[3] % groups == 0,
                       "conv2d: the number of groups must divide the channels, got ", x[3],
                       " inputs and ", w[3], " outputs with ", groups, " groups");
  require<shape_error>(w[2] == x[3] / groups, "conv2d: the kernel ", w, " takes ", w[2],
                       " channels for each group, but the images ", x, " with ", groups,
                       " groups have ", x[3] / groups);
  window_sizes sizes = pool_rule(x, window);
  sizes.o = w[3];
  sizes.groups = groups;
  return sizes;
}

}  // namespace kernels

namespace detail {

[[nodiscard]] inline double product_flops(const kernels::window_sizes& s) {
  return 2 * count(s.output()) *
         static_cast<double>(s.window.height * s.window.width * s.group_inputs());
}

}  // namespace detail

}  // namespace glia

namespace glia::kernels {

struct conv2d_max_pool2d;
struct conv2d_max_pool2d_gradient;
struct conv2d_chain;
struct packed_dense;
struct reshape;

/// Computes map(x * w + bias), where * is the cross-correlation that neural networks call
/// convolution: x (N, H, W, C), w (height, width, C / groups, O), bias (O) or no tensor.
struct conv2d {
  window2d window;
  std::size_t groups = 1;
  unary_map map = identity_map;

  static constexpr std::string_view name = "conv2d";
  static constexpr std::size_t operands = 3;  // x, w, bias
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x, const tensor_spec& w,
                                   const tensor_spec& bias) const {
    require_elements("conv2d", x, element::real);
    require_elements("conv2d", w, element::real);
    const window_sizes s = conv2d_rule(x.shape, w.shape, window, groups);
    require_bias("conv2d", bias, s.o);
    return real_of(s.output());
  }
  [[nodiscard]] double flops(const tensor_spec& x, const tensor_spec& w,
                             const tensor_spec& bias) const {
    const window_sizes s = conv2d_rule(x.shape, w.shape, window, groups);
    return detail::product_flops(s) + detail::count(s.output()) * ((bias ? 1 : 0) + flops_of(map));
  }
  [[nodiscard]] static batch_axes<3, 1> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&) {
    return detail::by_rows<conv2d>(2);
  }
  friend bool operator==(const conv2d&, const conv2d&) = default;
};

/// Computes the gradient of `conv2d` with respect to the input. `image` is the shape (H, W, C) of
/// an input image.
struct conv2d_input_gradient {
  window2d window;
  std::size_t groups = 1;
  shape image;

  static constexpr std::string_view name = "conv2d_input_gradient";
  static constexpr std::size_t operands = 2;  // dy, w
  static constexpr std::size_t results = 1;

  [[nodiscard]] window_sizes sizes(const shape& dy, const shape& w) const {
    return conv2d_rule(batch_of(dy.rank() == 0 ? 0 : dy[0], image), w, window, groups);
  }
  [[nodiscard]] tensor_spec result(const tensor_spec& dy, const tensor_spec& w) const {
    require_elements("conv2d_input_gradient", dy, element::real);
    require_elements("conv2d_input_gradient", w, element::real);
    const window_sizes s = sizes(dy.shape, w.shape);
    require_same_shape("conv2d_input_gradient", s.output(), dy.shape);
    return real_of(s.input());
  }
  [[nodiscard]] double flops(const tensor_spec& dy, const tensor_spec& w) const {
    return detail::product_flops(sizes(dy.shape, w.shape));
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<conv2d_input_gradient>(1);
  }
  friend bool operator==(const conv2d_input_gradient&, const conv2d_input_gradient&) = default;
};

/// Computes the gradient of `conv2d` with respect to the weights.
struct conv2d_kernel_gradient {
  window2d window;
  std::size_t groups = 1;

  static constexpr std::string_view name = "conv2d_kernel_gradient";
  static constexpr std::size_t operands = 2;  // x, dy
  static constexpr std::size_t results = 1;

  [[nodiscard]] window_sizes sizes(const shape& x, const shape& dy) const {
    require<shape_error>(x.rank() == 4 && dy.rank() == 4,
                         "conv2d_kernel_gradient: expected images (N, H, W, C), got ", x, " and ",
                         dy);
    return conv2d_rule(x, {window.height, window.width, x[3] / (groups == 0 ? 1 : groups), dy[3]},
                       window, groups);
  }
  [[nodiscard]] tensor_spec result(const tensor_spec& x, const tensor_spec& dy) const {
    require_elements("conv2d_kernel_gradient", x, element::real);
    require_elements("conv2d_kernel_gradient", dy, element::real);
    const window_sizes s = sizes(x.shape, dy.shape);
    require_same_shape("conv2d_kernel_gradient", s.output(), dy.shape);
    return real_of(s.weights());
  }
  [[nodiscard]] double flops(const tensor_spec& x, const tensor_spec& dy) const {
    return detail::product_flops(sizes(x.shape, dy.shape));
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return {{batch_axis::rows, batch_axis::rows}, {batch_axis::summed}};
  }
  friend bool operator==(const conv2d_kernel_gradient&, const conv2d_kernel_gradient&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const conv2d&) {
  return {.operands = 0b11};
}
template <class Call>
void add_gradients(const conv2d& k, Call& call) {
  derivatives::require_no_map("conv2d", k.map);
  const auto dy = call.dy();
  derivatives::add_gradient_of_bias(call, dy);
  if (call.wants(1)) {
    call.add(1, call.run(conv2d_kernel_gradient{k.window, k.groups}, call.operand(0), dy));
  }
  if (call.wants(0)) {
    call.add(0, call.run(conv2d_input_gradient{k.window, k.groups, sample_of(call.shape_of(0))}, dy,
                         call.operand(1)));
  }
}

/// The derivative of a transposed convolution, which this kernel computes.
[[nodiscard]] constexpr saved_tensors saved_for_gradients(const conv2d_input_gradient&) {
  return {.operands = 0b11};
}
template <class Call>
void add_gradients(const conv2d_input_gradient& k, Call& call) {
  const auto dy = call.dy();
  if (call.wants(1)) {
    call.add(1, call.run(conv2d_kernel_gradient{k.window, k.groups}, dy, call.operand(0)));
  }
  if (call.wants(0)) {
    call.add(0, call.run(conv2d{k.window, k.groups}, dy, call.operand(1), call.omitted_operand()));
  }
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const conv2d_kernel_gradient&) {
  return {.operands = 0b11};
}
template <class Call>
void add_gradients(const conv2d_kernel_gradient& k, Call& call) {
  const auto dw = call.dy();
  if (call.wants(0)) {
    call.add(0, call.run(conv2d_input_gradient{k.window, k.groups, sample_of(call.shape_of(0))},
                         call.operand(1), dw));
  }
  if (call.wants(1)) {
    call.add(1, call.run(conv2d{k.window, k.groups}, call.operand(0), dw, call.omitted_operand()));
  }
}

}  // namespace glia::kernels
