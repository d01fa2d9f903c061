#pragma once

// With -DGLIA_COMPILED, a program does not compile the templates that are listed here, because they
// are in glia::compiled.

#include "glia/backends/cpu.hpp"
#include "glia/layers/layers.hpp"
#include "glia/losses/losses.hpp"
#include "glia/models/model.hpp"
#include "glia/optimizers/optimizers.hpp"
#include "glia/trainer.hpp"

#ifdef GLIA_COMPILED
namespace glia {

extern template class cpu_backend<float>;
extern template class cpu_backend<double>;

#define GLIA_TEMPLATE extern template
#include "glia/compiled/kernel_types.inl"
#include "glia/compiled/layers.inl"
#include "glia/compiled/losses.inl"
#undef GLIA_TEMPLATE

}  // namespace glia
#endif
