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

// Of float alone: to read this for double as well would take programs in float longer than it
// spares those in double.
#define GLIA_TEMPLATE extern template
#define GLIA_B cpu<float>
#define GLIA_R recorder<cpu<float>>
#include "glia/compiled/layers.inl"
#include "glia/compiled/models.inl"
#undef GLIA_R
#undef GLIA_B
#undef GLIA_TEMPLATE

}  // namespace glia
#endif
