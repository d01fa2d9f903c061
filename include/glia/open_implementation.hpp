#pragma once

/// The compiled part of `glia::open`. Use it like glia/implementation.hpp.

#ifndef GLIA_COMPILED
#error "glia/open_implementation.hpp: compile all files of the program with -DGLIA_COMPILED"
#endif

#include "glia/compiled/open.cpp"
