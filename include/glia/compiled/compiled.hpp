#pragma once

// With -DGLIA_COMPILED, a program does not compile the templates in the lists below, because the
// library glia::compiled contains them: models and training on the `cpu` device, in float and
// double. For other devices, the program compiles the templates itself.

#include "glia/backends/cpu.hpp"
#include "glia/layers/layers.hpp"
#include "glia/losses/losses.hpp"
#include "glia/models/model.hpp"
#include "glia/optimizers/optimizers.hpp"
#include "glia/training/trainer.hpp"

#ifdef GLIA_COMPILED
namespace glia {

#define GLIA_TEMPLATE extern template
#define GLIA_PART "glia/compiled/host.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#define GLIA_PART "glia/compiled/models.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#undef GLIA_TEMPLATE

}  // namespace glia
#endif
