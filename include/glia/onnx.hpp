#pragma once

// Models as ONNX files, which other programs read: link glia::onnx.
#include "glia/onnx/write_onnx.hpp"
