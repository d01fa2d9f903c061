#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "glia/kernels/quantization.hpp"

namespace glia {

/// How one product or convolution of a model is computed with integers of 8 bits.
struct quantized_product {
  std::string layer;                   ///< of the model, by its name
  std::size_t number = 0;              ///< of the layer's products, counted from 0
  float input_scale = 1;               ///< its inputs are (byte - zero) * scale
  std::int32_t input_zero = 0;         ///< 0 to 255
  std::vector<float> weight_scales{};  ///< of each output: its weights are whole numbers times it
  double error = 0;  ///< how far it alone moves the model's outputs, against their size

  friend bool operator==(const quantized_product&, const quantized_product&) = default;
};

/// Which products of a model are computed with integers of 8 bits, and how: what `calibrate` finds.
/// A value: it can be looked at, changed, and given to `prepare` and `write_onnx`.
struct quantization {
  std::vector<quantized_product> products{};
  std::size_t left_in_float = 0;  ///< products that are not listed
  double error = 0;               ///< how far all together move the outputs, against their size

  friend bool operator==(const quantization&, const quantization&) = default;
};

}  // namespace glia
