#pragma once

// The message classes of the ONNX project's library (namespace ::onnx), compiled from its
// onnx.proto.
#include <onnx/onnx_pb.h>
