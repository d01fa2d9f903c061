#pragma once

#include <string>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::onnx {

/// Numbers of a model that are the same for all inputs.
struct constant {
  std::string name;
  glia::shape shape;
  std::vector<float> numbers;
  bool weights = true;  ///< false: what a description says itself, which nobody trains

  /// Where they are multiples of these, one for each index of the last axis, they are stored as
  /// bytes in this range.
  std::vector<float> scales{};
  byte_range range = signed_bytes;
};

}  // namespace glia::onnx
