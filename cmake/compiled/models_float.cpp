// Models and training.
#include "glia/compiled/definitions.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_B cpu<float>
#define GLIA_R recorder<cpu<float>>
#include "glia/compiled/models.inl"

}  // namespace glia
