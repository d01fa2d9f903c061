// Models and training.
#include "glia/compiled/definitions.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_B cpu<double>
#define GLIA_R recorder<cpu<double>>
#include "glia/compiled/models.inl"

}  // namespace glia
