#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "glia/kernels/convolution.hpp"
#include "glia/kernels/pooling.hpp"

namespace glia::kernels {

/// A convolution and the max-pooling that follows it.
struct convolution_pooling {
  window2d window;
  std::size_t groups = 1;
  window2d pool;

  friend constexpr bool operator==(const convolution_pooling&,
                                   const convolution_pooling&) = default;
};

/// Returns whether the fused kernels support this activation and pooling. The activation must
/// satisfy `clamps`, so that the byte with the position can also mark outputs without a gradient.
/// Pooling windows must neither overlap nor reach beyond the border.
[[nodiscard]] constexpr bool pools_fuse(const unary_map& map, const window2d& pool) noexcept {
  return clamps(map) && pool.height * pool.width < 255 && pool.stride_height >= pool.height &&
         pool.stride_width >= pool.width && pool.dilation_height == 1 && pool.dilation_width == 1 &&
         !is_padded(pool);
}

struct packed_conv2d_max_pool2d;
struct pack_panels;
struct pack_transformed;

/// Computes max_pool2d(map(x * w + bias)) and, if the gradient needs it, a byte for each output:
/// the position of the maximum in its window, or a value chosen by the backend if the map has no
/// gradient there. Optional for a backend; the pooling must satisfy `pools_fuse`.
struct conv2d_max_pool2d {
  convolution_pooling geometry;
  unary_map map = identity_map;
  bool keeps_positions = true;

  static constexpr std::string_view name = "conv2d_max_pool2d";
  static constexpr std::size_t operands = 3;  // x, w, bias
  static constexpr std::size_t results = 2;   // y, position

  [[nodiscard]] std::array<tensor_spec, 2> result(const tensor_spec& x, const tensor_spec& w,
                                                  const tensor_spec& bias) const {
    require<value_error>(pools_fuse(map, geometry.pool),
                         "conv2d_max_pool2d: takes no activation, relu or relu6, and windows that "
                         "neither overlap nor hang over the border, got ",
                         name_of(map.function));
    const tensor_spec convolved = convolution().result(x, w, bias);
    const shape y = pool_rule(convolved.shape, geometry.pool).output();
    return {real_of(y), keeps_positions ? tensor_spec{y, element::byte} : tensor_spec{}};
  }
  [[nodiscard]] double flops(const tensor_spec& x, const tensor_spec& w,
                             const tensor_spec& bias) const {
    return convolution().flops(x, w, bias) +
           detail::pool_flops(pool_rule(convolution().result(x, w, bias).shape, geometry.pool));
  }
  [[nodiscard]] static batch_axes<3, 2> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&) {
    return detail::by_rows<conv2d_max_pool2d>(2);
  }
  /// Returns the convolution without the pooling.
  [[nodiscard]] conv2d convolution() const { return {geometry.window, geometry.groups, map}; }
  friend bool operator==(const conv2d_max_pool2d&, const conv2d_max_pool2d&) = default;
};

/// Computes the gradients of `conv2d_max_pool2d` with respect to the input, the weights and the
/// bias. The input's gradient is optional.
struct conv2d_max_pool2d_gradient {
  convolution_pooling geometry;
  bool to_input = true;

  static constexpr std::string_view name = "conv2d_max_pool2d_gradient";
  static constexpr std::size_t operands = 4;  // dy, x, w, position
  static constexpr std::size_t results = 3;   // dx, dw, dbias

  [[nodiscard]] std::array<tensor_spec, 3> result(const tensor_spec& dy, const tensor_spec& x,
                                                  const tensor_spec& w,
                                                  const tensor_spec& position) const {
    const window_sizes s = conv2d_rule(x.shape, w.shape, geometry.window, geometry.groups);
    const shape y = pool_rule(s.output(), geometry.pool).output();
    require_elements("conv2d_max_pool2d_gradient: position", position, element::byte);
    require_same_shape("conv2d_max_pool2d_gradient", y, dy.shape);
    require_same_shape("conv2d_max_pool2d_gradient", y, position.shape);
    return {to_input ? x : tensor_spec{}, w, real_of({s.o})};
  }
  [[nodiscard]] double flops(const tensor_spec& dy, const tensor_spec& x, const tensor_spec& w,
                             const tensor_spec&) const {
    return (to_input ? 2 : 1) * detail::product_flops(conv2d_rule(x.shape, w.shape, geometry.window,
                                                                  geometry.groups)) +
           2 * detail::count(dy.shape);
  }
  [[nodiscard]] static batch_axes<4, 3> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&, const tensor_spec&) {
    return {{batch_axis::rows, batch_axis::rows, batch_axis::shared, batch_axis::rows},
            {batch_axis::rows, batch_axis::summed, batch_axis::summed}};
  }
  friend bool operator==(const conv2d_max_pool2d_gradient&,
                         const conv2d_max_pool2d_gradient&) = default;
};

}  // namespace glia::kernels
