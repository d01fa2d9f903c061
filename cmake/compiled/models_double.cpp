// Models and training.
#include "glia/compiled/definitions.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_NUMBER double
#define GLIA_B cpu<GLIA_NUMBER>
#define GLIA_R recorder<cpu<GLIA_NUMBER>>
#include "glia/compiled/models.inl"

}  // namespace glia
