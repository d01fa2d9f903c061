#pragma once

/// The functions that write ONNX files.

#include <cstddef>
#include <filesystem>
#include <span>

#include "glia/graph/graph.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/writing/constant.hpp"

namespace glia::onnx {

/// Compares two recordings of a model, for 2 and for 3 samples. Throws `value_error` if a number in
/// them differs, because it then depends on the batch size.
void require_same_numbers(const graph& two, const graph& three);

/// Writes a model, given as its recordings for 2 and for 3 samples. Extents that differ between the
/// two are proportional to the batch size. `known` contains the values of the last inputs, in their
/// order. `parameter_graph` computes these values from the parameters. The other inputs contain the
/// samples. If `images_first` is true, inputs and outputs with four axes are (N, C, H, W).
void write_graph(const graph& parameter_graph, const graph& two, const graph& three,
                 std::span<const constant> known, bool images_first,
                 ::onnx::GraphProto& file_graph);

/// Writes a model's message to a file. If it has more than `largest` bytes, the weights go to a
/// second file, with a name that the existing model does not use. The existing model remains intact
/// until the new one has replaced it.
void write_message(::onnx::ModelProto& model, const std::filesystem::path& path,
                   std::size_t largest);

}  // namespace glia::onnx

#ifndef GLIA_COMPILED
#include "glia/onnx/writing/write_graph.hpp"
#include "glia/onnx/writing/write_message.hpp"
#endif
