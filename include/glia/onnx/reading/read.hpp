#pragma once

/// The functions that read ONNX files.

#include <span>
#include <string>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/onnx/reading/model_content.hpp"
#include "glia/onnx/reading/read_result.hpp"

namespace glia::onnx {

/// Returns the inputs and outputs of a file's network. Throws `data_error` if they do not fit a
/// model.
[[nodiscard]] graph_interface interface_of(const model_content& content, bool channels_last,
                                           const std::vector<std::string>& outputs);

/// Reads the network of a file for inputs of these shapes, with the layout given by
/// `model_interface`. Throws `data_error` if glia has no kernels for it or its nodes do not fit
/// together.
///
/// If a file was written for one batch size, it is read for this size. Then the graph is converted
/// to the requested size, if it treats all samples independently. Otherwise this function throws.
/// While a model is planned, it does not throw, but returns the graph for the file's batch size.
[[nodiscard]] read_result read_graph(const model_content& content,
                                     const graph_interface& model_interface,
                                     std::span<const shape> shapes, bool training,
                                     bool whole_recurrences, bool planning = false);

}  // namespace glia::onnx

#ifndef GLIA_COMPILED
#include "glia/onnx/reading/read_graph.hpp"
#include "glia/onnx/reading/read_interface.hpp"
#endif
