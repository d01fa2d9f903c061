#pragma once

#include <cstddef>
#include <string_view>

#include "glia/kernels/kernel.hpp"
#include "glia/kernels/products.hpp"
#include "glia/kernels/window.hpp"

namespace glia::kernels {

/// Packs the weights (..., O) and bias (O), if any, of a product in the order in which the device's
/// loops read them. This is done once for weights that do not change. Optional for a backend.
struct pack_panels {
  /// Whether the weights are rounded as the device rounds the factors of products. Some kernels,
  /// such as depthwise convolutions, never round.
  bool rounded = true;

  static constexpr std::string_view name = "pack_panels";
  static constexpr std::size_t operands = 2;  // w, bias
  static constexpr std::size_t results = 1;

  // A multiple of the width of the widest panel of outputs that the loops use.
  static constexpr std::size_t outputs_at_a_time = 32;

  [[nodiscard]] static tensor_spec result(const tensor_spec& w, const tensor_spec& bias) {
    require_elements("pack_panels", w, element::real);
    require<shape_error>(w.shape.rank() >= 2,
                         "pack_panels: expected weights of rank 2 or more, got ", w.shape);
    const std::size_t outputs = w.shape.back();
    require_bias("pack_panels", bias, outputs);
    return real_of({1 + (outputs == 0 ? 0 : w.shape.size() / outputs), filled_up(outputs)});
  }
  [[nodiscard]] static double flops(const tensor_spec&, const tensor_spec&) { return 0; }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return {{batch_axis::shared, batch_axis::shared}, {batch_axis::shared}};
  }
  friend bool operator==(const pack_panels&, const pack_panels&) = default;

  [[nodiscard]] static constexpr std::size_t filled_up(std::size_t outputs) {
    return (outputs + outputs_at_a_time - 1) / outputs_at_a_time * outputs_at_a_time;
  }
};

/// Packs the weights of a convolution for Winograd's F(2 x 2, 2 x 2) or F(2 x 2, 3 x 3), which
/// multiplies image tiles by matrices (C, O): nine for weights (2, 2, C, O), sixteen for weights
/// (3, 3, C, O). See also `pack_panels`.
struct pack_transformed {
  static constexpr std::string_view name = "pack_transformed";
  static constexpr std::size_t operands = 1;  // w
  static constexpr std::size_t results = 1;

  // Number of floats in the widest registers.
  static constexpr std::size_t channels_at_a_time = 16;

  /// Returns whether a window is 3 x 3, with neither strides nor dilation.
  [[nodiscard]] static constexpr bool fits(const window2d& k) {
    return k.height == 3 && k.width == 3 && is_dense(k);
  }
  /// Returns whether one tile of Winograd's method gives exactly the outputs in one pooling window:
  /// both windows must be 2 x 2, and the convolution must have neither strides nor dilation.
  [[nodiscard]] static constexpr bool fits(const window2d& k, const window2d& pool) {
    return k.height == 2 && k.width == 2 && is_dense(k) && pool.height == 2 && pool.width == 2;
  }
  [[nodiscard]] static bool applies(const shape& w) {
    return w.rank() == 4 && w[0] == w[1] && (w[0] == 2 || w[0] == 3) && w[2] > 0 && w[3] > 0 &&
           w[2] % channels_at_a_time == 0 && w[3] % channels_at_a_time == 0;
  }
  [[nodiscard]] static tensor_spec result(const tensor_spec& w) {
    require_elements("pack_transformed", w, element::real);
    require<shape_error>(applies(w.shape),
                         "pack_transformed: expected weights (2, 2, C, O) or (3, 3, C, O) with C "
                         "and O multiples of ",
                         channels_at_a_time, ", got ", w.shape);
    return real_of(
        {(1 + w.shape[0]) * (1 + w.shape[1]), 1 + w.shape[2], pack_panels::filled_up(w.shape[3])});
  }
  [[nodiscard]] static double flops(const tensor_spec& w) {
    const double additions = w.shape[0] == 2 ? 5 : 35;
    return additions * detail::count({w.shape[2], w.shape[3]});
  }
  [[nodiscard]] static batch_axes<1, 1> axes(const tensor_spec&) {
    return {{batch_axis::shared}, {batch_axis::shared}};
  }
  friend bool operator==(const pack_transformed&, const pack_transformed&) = default;

 private:
  [[nodiscard]] static constexpr bool is_dense(const window2d& k) {
    return k.stride_height == 1 && k.stride_width == 1 && k.dilation_height == 1 &&
           k.dilation_width == 1;
  }
};

}  // namespace glia::kernels
