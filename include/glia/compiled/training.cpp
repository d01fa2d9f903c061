#include "glia/glia.hpp"
#include "glia/training/recorded_step.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_PART "glia/compiled/training.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#undef GLIA_TEMPLATE

}  // namespace glia
