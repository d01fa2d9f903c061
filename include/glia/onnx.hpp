#pragma once

// Reads models from ONNX files and writes them to ONNX files. Link `glia::onnx`.
#include "glia/onnx/model_info.hpp"
#include "glia/onnx/onnx_model.hpp"
#include "glia/onnx/onnx_options.hpp"
#include "glia/onnx/write_onnx.hpp"
