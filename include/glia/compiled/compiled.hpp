#pragma once

// With -DGLIA_COMPILED, a program does not compile the templates in the lists below, because they
// are in glia::compiled: descriptions, and models and training on the `cpu` device, in float and
// double. For other devices, the program compiles the last two itself.

#include "glia/backends/cpu.hpp"
#include "glia/layers/layers.hpp"
#include "glia/losses/losses.hpp"
#include "glia/models/model.hpp"
#include "glia/optimizers/optimizers.hpp"
#include "glia/training/trainer.hpp"

#ifdef GLIA_COMPILED
namespace glia {

#define GLIA_TEMPLATE extern template
#include "glia/compiled/descriptions.inl"
#define GLIA_PART "glia/compiled/host.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#define GLIA_PART "glia/compiled/models.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#undef GLIA_TEMPLATE
extern template const kernel_functions<cpu<double>>& detail::functions_of_device();

}  // namespace glia
#endif
