#pragma once

/// The compiled part of glia's ONNX reader and writer. Use it like glia/implementation.hpp.

#ifndef GLIA_COMPILED
#error "glia/onnx_implementation.hpp: compile all files of the program with -DGLIA_COMPILED"
#endif

#include "glia/compiled/onnx.cpp"
