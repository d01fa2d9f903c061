#pragma once

// With -DGLIA_COMPILED, a program leaves to glia::compiled what stands in the lists below: models
// and training on the cpu backend, in float and double. On other backends, it compiles them itself.

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
