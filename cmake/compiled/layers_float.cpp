// Layers, losses and optimizers.
#include "glia/compiled/definitions.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_B cpu<float>
#define GLIA_R recorder<cpu<float>>
#include "glia/compiled/layers.inl"

}  // namespace glia
