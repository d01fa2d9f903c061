#pragma once

#include <cstddef>
#include <string_view>

#include "glia/kernels/packing.hpp"
#include "glia/kernels/pooled_convolution.hpp"
#include "glia/kernels/products.hpp"

namespace glia {

/// Returns whether Winograd's transforms, with weights from `pack_transformed`, pay for a
/// convolution: enough channels and pixels outweigh them.
[[nodiscard]] inline bool transforms(const kernels::window_sizes& s) {
  constexpr std::size_t min_channels = 32;
  constexpr std::size_t min_pixels = 16;
  return s.groups == 1 && kernels::pack_transformed::fits(s.window) &&
         kernels::pack_transformed::applies(s.weights()) && s.c >= min_channels &&
         s.o >= min_channels && s.oh * s.ow >= min_pixels;
}

/// Returns whether `pack_transformed` applies to a convolution with weights of shape `w` and its
/// pooling. Winograd's transforms then need fewer multiplications.
[[nodiscard]] inline bool transforms(const kernels::convolution_pooling& geometry, const shape& w) {
  return geometry.groups == 1 && kernels::pack_transformed::applies(w) &&
         kernels::pack_transformed::fits(geometry.window, geometry.pool);
}

}  // namespace glia

namespace glia::kernels {

/// Computes `dense` with an additional operand: the weights packed by `pack_panels`, without a
/// bias. The original weights remain an operand, because loops without packing are faster for some
/// sizes and for inputs with many zeros. Optional for a backend.
struct packed_dense {
  unary_map map = identity_map;

  static constexpr std::string_view name = "packed_dense";
  static constexpr std::size_t operands = 4;  // x, w, bias, packed
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x, const tensor_spec& w,
                                   const tensor_spec& bias, const tensor_spec& packed) const {
    require_same_shape("packed_dense: packed weights", pack_panels::result(w, {}).shape,
                       packed.shape);
    return unpacked().result(x, w, bias);
  }
  [[nodiscard]] double flops(const tensor_spec& x, const tensor_spec& w, const tensor_spec& bias,
                             const tensor_spec&) const {
    return unpacked().flops(x, w, bias);
  }
  [[nodiscard]] static batch_axes<4, 1> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<packed_dense>(3);
  }
  [[nodiscard]] dense unpacked() const { return {map}; }
  friend bool operator==(const packed_dense&, const packed_dense&) = default;
};

/// Computes `conv2d` with one group and an additional operand: the weights packed by
/// `pack_transformed`. The original weights remain an operand, because the transforms fail for
/// numbers that are not finite. Optional for a backend.
struct packed_conv2d {
  window2d window;
  unary_map map = identity_map;

  static constexpr std::string_view name = "packed_conv2d";
  static constexpr std::size_t operands = 4;  // x, w, bias, packed
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x, const tensor_spec& w,
                                   const tensor_spec& bias, const tensor_spec& packed) const {
    require<value_error>(pack_transformed::fits(window),
                         "packed_conv2d: expected a 3 x 3 window without strides and dilation");
    require_same_shape("packed_conv2d: packed weights", pack_transformed::result(w).shape,
                       packed.shape);
    return unpacked().result(x, w, bias);
  }
  [[nodiscard]] double flops(const tensor_spec& x, const tensor_spec& w, const tensor_spec& bias,
                             const tensor_spec&) const {
    return unpacked().flops(x, w, bias);
  }
  [[nodiscard]] static batch_axes<4, 1> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<packed_conv2d>(3);
  }
  [[nodiscard]] conv2d unpacked() const { return {window, 1, map}; }
  friend bool operator==(const packed_conv2d&, const packed_conv2d&) = default;
};

/// Computes `conv2d_max_pool2d` without positions, with an additional operand: the weights packed
/// with the bias by `pack_panels{.rounded = false}`, or packed by `pack_transformed`. Optional for
/// a backend.
struct packed_conv2d_max_pool2d {
  convolution_pooling geometry;
  unary_map map = identity_map;

  static constexpr std::string_view name = "packed_conv2d_max_pool2d";
  static constexpr std::size_t operands = 4;  // x, w, bias, packed
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x, const tensor_spec& w,
                                   const tensor_spec& bias, const tensor_spec& packed) const {
    require<value_error>(geometry.groups == 1, "packed_conv2d_max_pool2d: expected one group, got ",
                         geometry.groups);
    require_same_shape("packed_conv2d_max_pool2d: packed weights",
                       is_transformed(packed.shape) ? pack_transformed::result(w).shape
                                                    : pack_panels::result(w, bias).shape,
                       packed.shape);
    return unpacked().result(x, w, bias)[0];
  }
  [[nodiscard]] double flops(const tensor_spec& x, const tensor_spec& w, const tensor_spec& bias,
                             const tensor_spec&) const {
    return unpacked().flops(x, w, bias);
  }
  [[nodiscard]] static batch_axes<4, 1> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<packed_conv2d_max_pool2d>(3);
  }
  [[nodiscard]] conv2d_max_pool2d unpacked() const { return {geometry, map, false}; }
  [[nodiscard]] static bool is_transformed(const shape& packed) { return packed.rank() == 3; }
  friend bool operator==(const packed_conv2d_max_pool2d&,
                         const packed_conv2d_max_pool2d&) = default;
};

}  // namespace glia::kernels
