#pragma once

// With the compiled target (CMake: glia::compiled) programs do not compile what it holds again.

#include "glia/backends/cpu.hpp"
#include "glia/layers/layers.hpp"
#include "glia/losses/losses.hpp"
#include "glia/models/model.hpp"
#include "glia/optimizers/optimizers.hpp"
#include "glia/training/trainer.hpp"

#ifdef GLIA_COMPILED
namespace glia {

#define GLIA_TEMPLATE extern template
#define GLIA_NUMBER float
#include "glia/compiled/everything.inl"
#undef GLIA_NUMBER
#define GLIA_NUMBER double
#include "glia/compiled/everything.inl"
#undef GLIA_NUMBER
#undef GLIA_TEMPLATE

}  // namespace glia
#endif
