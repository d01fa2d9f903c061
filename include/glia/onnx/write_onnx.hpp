#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/program.hpp"
#include "glia/core/error.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/models/model_core.hpp"
#include "glia/onnx/onnx_options.hpp"
#include "glia/onnx/writing/constant.hpp"
#include "glia/onnx/writing/write.hpp"

namespace glia::onnx {

/// Converts the inference graph of a model, with its weights, to an ONNX message.
[[nodiscard]] ::onnx::ModelProto message_of(const model_core& net, const onnx_options& options);
template <class Model>
[[nodiscard]] ::onnx::ModelProto message_of(const Model& net, const onnx_options& options) {
  return message_of(net.core(), options);
}

}  // namespace glia::onnx

namespace glia {

/// Writes a model with its weights to an ONNX file of opset 17, which ONNX Runtime, OpenVINO and
/// other programs run. The file contains the inference graph, for batches of any size.
///
/// Inputs and outputs are as in glia, so images are (N, H, W, C), unless the option
/// `channels_first` is set. A model that begins with `inputs` has one input in the file for each
/// name, and a model that ends with `outputs` has one output for each name. The weights have the
/// names of the parameters, and the operators have the names of the layers. Link `glia::onnx`,
/// which needs the ONNX project's library.
///
/// Throws `value_error`, with the layer's name, if a layer has no counterpart in ONNX or its output
/// depends on the batch size. Throws `value_error` if the number of names in the options differs
/// from the number of inputs or outputs, or if a name is empty or occurs twice. Throws
/// `data_error`, with the file's name, if the file cannot be written; an existing file then remains
/// unchanged.
template <class Model>
void write_onnx(const Model& net, const std::filesystem::path& path,
                const onnx_options& options = {}) {
  ::onnx::ModelProto model = onnx::message_of(net, options);
  onnx::write_message(model, path, options.max_file_bytes);
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/onnx/write_onnx_impl.hpp"
#endif
