#pragma once

// Reads models from ONNX files and writes them to ONNX files. Link `glia::onnx`.
#include "glia/onnx/model_info.hpp"
#include "glia/onnx/onnx_model.hpp"
#include "glia/onnx/write_onnx.hpp"

#ifdef GLIA_COMPILED
#include "glia/backends/cpu.hpp"

namespace glia {

#define GLIA_TEMPLATE extern template
#define GLIA_PART "glia/compiled/onnx.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#undef GLIA_TEMPLATE

}  // namespace glia
#endif
