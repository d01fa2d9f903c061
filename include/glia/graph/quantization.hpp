#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "glia/kernels/quantization.hpp"

namespace glia {

/// The quantization of one product or convolution of a model, which is computed with integers of 8
/// bits.
struct quantized_product {
  std::string layer;       ///< path of the layer in the model
  std::size_t number = 0;  ///< index among the layer's products, from 0
  /// Scale of the inputs, above 0: an input is (byte - input_zero) * input_scale.
  float input_scale = 1;
  std::int32_t input_zero = 0;  ///< byte of the input 0, from 0 to 255
  /// Scale of each output's weights, which are integers times it.
  std::vector<float> weight_scales{};
  double error = 0;  ///< relative change of the model's outputs if only this product is quantized

  friend bool operator==(const quantized_product&, const quantized_product&) = default;
};

/// The products of a model that are computed with integers of 8 bits; the result of `calibrate`. It
/// can be inspected, changed, and passed to `prepare` and `write_onnx`.
struct quantization {
  std::vector<quantized_product> products{};
  std::size_t left_in_float = 0;  ///< number of products that are not listed
  /// Relative change of the model's outputs if all listed products are quantized.
  double error = 0;

  friend bool operator==(const quantization&, const quantization&) = default;
};

}  // namespace glia
