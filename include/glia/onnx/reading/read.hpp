#pragma once

/// The functions that read ONNX files.

#include <span>
#include <string>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/onnx/reading/model_content.hpp"
#include "glia/onnx/reading/read_result.hpp"

namespace glia::onnx {

/// What a file's network takes and gives. Throws `data_error` for what no model can.
[[nodiscard]] graph_interface interface_of(const model_content& content, bool channels_last,
                                           const std::vector<std::string>& outputs);

/// Reads a file's network for inputs of these shapes, which lie as `what` says. Throws `data_error`
/// where glia has no kernels for it, or it does not fit together.
///
/// A file that was written for batches of one size is read for that size, and made for another
/// where it treats the samples one by one; else that throws, but while a model is planned, which
/// gets what the file can do.
[[nodiscard]] read_result read_graph(const model_content& content, const graph_interface& what,
                                     std::span<const shape> shapes, bool training,
                                     bool whole_recurrences, bool planning = false);

}  // namespace glia::onnx

#ifndef GLIA_COMPILED
#include "glia/onnx/reading/read_graph.hpp"
#endif
