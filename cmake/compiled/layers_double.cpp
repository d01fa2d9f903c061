// Layers, losses and optimizers.
#include "glia/compiled/definitions.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_B cpu<double>
#define GLIA_R recorder<cpu<double>>
#include "glia/compiled/layers.inl"

}  // namespace glia
