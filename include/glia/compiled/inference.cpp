#include "glia/glia.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_PART "glia/compiled/program.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#define GLIA_PART "glia/compiled/inference.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#undef GLIA_TEMPLATE

}  // namespace glia
