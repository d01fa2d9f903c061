#pragma once

/// The same as glia/implementation.hpp for readers and writers of ONNX files.

#ifndef GLIA_COMPILED
#error "glia/onnx_implementation.hpp: compile all files of the program with -DGLIA_COMPILED"
#endif

#include "glia/compiled/onnx.cpp"
