#pragma once

#include <string>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::onnx {

/// Numbers of a model that do not depend on the inputs.
struct constant {
  std::string name;
  glia::shape shape;
  std::vector<float> numbers;
  bool weights = true;  ///< True for weights, false for untrained constants.

  /// One scale for each index of the last axis, if the numbers are integer multiples of the scales.
  /// The numbers are then stored as bytes in `range`.
  std::vector<float> scales{};
  kernels::byte_range range = signed_bytes;
};

}  // namespace glia::onnx
