#pragma once

// Models as ONNX files, which other programs read and write: link glia::onnx.
#include "glia/onnx/model_info.hpp"
#include "glia/onnx/onnx_model.hpp"
#include "glia/onnx/write_onnx.hpp"
