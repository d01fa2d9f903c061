#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "glia/kernels/quantization.hpp"

namespace glia {

/// The scales with which one product or convolution of a model is computed in 8-bit integers.
struct quantized_product {
  std::string layer;       ///< path of the layer in the model
  std::size_t number = 0;  ///< index among the layer's products, from 0
  /// Scale of the inputs, above 0: an input is (byte - input_zero) * input_scale.
  float input_scale = 1;
  std::int32_t input_zero = 0;  ///< byte that represents the input 0, from 0 to 255
  /// Scale of each output's weights: a weight is an integer times this scale.
  std::vector<float> weight_scales{};
  double error = 0;  ///< relative change of the model's outputs if only this product is quantized

  friend bool operator==(const quantized_product&, const quantized_product&) = default;
};

/// The products and convolutions of a model that are computed with 8-bit integers. `calibrate`
/// returns this list; it can be inspected, changed, and passed to `prepare` and `write_onnx`.
struct quantization {
  std::vector<quantized_product> products{};
  std::size_t left_in_float = 0;  ///< number of products that are not listed
  /// Relative change of the model's outputs if all listed products are quantized.
  double error = 0;

  friend bool operator==(const quantization&, const quantization&) = default;
};

}  // namespace glia
