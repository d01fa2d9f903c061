#pragma once

/// For builds without CMake: include this in one file of a program whose files are all compiled
/// with -DGLIA_COMPILED. It takes two minutes and 3 GB to compile, once; the others then take
/// seconds. Where they read or write ONNX files, include glia/onnx_implementation.hpp as well.
///
/// The files glia/compiled/*.cpp are the same in parts, which can be compiled in parallel in place
/// of it.

#ifndef GLIA_COMPILED
#error "glia/implementation.hpp: compile all files of the program with -DGLIA_COMPILED"
#endif

#include "glia/compiled/inference.cpp"
#include "glia/compiled/layers.cpp"
#include "glia/compiled/loops_convolution_double.cpp"
#include "glia/compiled/loops_convolution_float.cpp"
#include "glia/compiled/loops_elementwise_double.cpp"
#include "glia/compiled/loops_elementwise_float.cpp"
#include "glia/compiled/loops_products.cpp"
#include "glia/compiled/passes.cpp"
#include "glia/compiled/training.cpp"
