#include <glia/implementation.hpp>
#include <glia/onnx_implementation.hpp>
