#pragma once

/// The functions that write ONNX files.

#include <cstddef>
#include <filesystem>
#include <span>

#include "glia/graph/graph.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/writing/constant.hpp"

namespace glia::onnx {

/// Throws `value_error` where two recordings, for 2 and for 3 samples, compute otherwise than
/// with tensors of other shapes: by numbers that depend on how many samples there are.
void require_same_numbers(const graph& two, const graph& three);

/// Writes what two recordings of a model compute, for 2 and for 3 samples: what they differ in is
/// so many for each sample. `known` are the constants behind the first input, by their inputs,
/// which `once` computes of the parameters.
void write_graph(const graph& once, const graph& two, const graph& three,
                 std::span<const constant> known, ::onnx::GraphProto& to);

/// Writes a model's message to a file, and of more bytes than `largest` the weights to one beside
/// it. That has a name which the model that was there before does not use: it stays whole until
/// the new one has taken its place.
void write_message(::onnx::ModelProto& model, const std::filesystem::path& path,
                   std::size_t largest);

}  // namespace glia::onnx

#ifndef GLIA_COMPILED
#include "glia/onnx/writing/write_graph.hpp"
#include "glia/onnx/writing/write_message.hpp"
#endif
