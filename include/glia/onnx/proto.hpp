#pragma once

// The messages of the ONNX project's own onnx.proto, as its library has them compiled: ::onnx.
#include <onnx/onnx_pb.h>
