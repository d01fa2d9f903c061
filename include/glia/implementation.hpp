#pragma once

/// The compiled part of glia in one header, for builds without CMake: include it in exactly one
/// source file of a program, and compile all source files with -DGLIA_COMPILED. That source file
/// takes about two minutes and 3 GB of memory to compile. Each other source file takes seconds. If
/// the program reads or writes ONNX files, include glia/onnx_implementation.hpp as well, and if it
/// calls glia::open, include glia/open_implementation.hpp.
///
/// As an alternative, compile the files glia/compiled/*.cpp in parallel. They contain the same
/// code, divided into several files.

#ifndef GLIA_COMPILED
#error "glia/implementation.hpp: compile all files of the program with -DGLIA_COMPILED"
#endif

#include "glia/compiled/devices.cpp"
#include "glia/compiled/inference.cpp"
#include "glia/compiled/layers.cpp"
#include "glia/compiled/loops_bfloat16.cpp"
#include "glia/compiled/loops_convolution_double.cpp"
#include "glia/compiled/loops_convolution_float.cpp"
#include "glia/compiled/loops_elementwise_double.cpp"
#include "glia/compiled/loops_elementwise_float.cpp"
#include "glia/compiled/loops_products.cpp"
#include "glia/compiled/ops.cpp"
#include "glia/compiled/passes.cpp"
#include "glia/compiled/training.cpp"
