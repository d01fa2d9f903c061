#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "glia/graph/quantization.hpp"

namespace glia {

/// Options of `write_onnx`.
struct onnx_options {
  std::string name = "glia";  ///< Name of the graph.
  /// Additional texts by key, such as class names and preprocessing.
  std::map<std::string, std::string> metadata{};

  /// Products to write with 8-bit weights and inputs; the result of `calibrate`. The file then
  /// contains QuantizeLinear and DequantizeLinear, and the weights as bytes. Default: no products.
  glia::quantization quantization{};

  /// Largest size of the ONNX file, in bytes, up to 2 GiB (the limit of the format). The weights of
  /// a larger model go to a second file, net.onnx.data for net.onnx; keep both files together.
  std::size_t max_file_bytes = std::size_t{1} << 30;

  /// Names of the inputs, in the model's order. Default: the names in `inputs`, or `inputs` for a
  /// model with one input.
  std::vector<std::string> input_names{};
  /// Names of the outputs, in the model's order. Default: the names in `outputs`, or `outputs` for
  /// a model with one output.
  std::vector<std::string> output_names{};
  /// Whether images (inputs and outputs with four axes) are (N, C, H, W) in the file. If false,
  /// they are (N, H, W, C), as in the model.
  bool channels_first = false;
};

}  // namespace glia
