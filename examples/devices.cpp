// What examples instantiate for devices of XLA's, compiled once for all of them.
#include "device.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_B pjrt<float>
#include <glia/compiled/models.inl>
#undef GLIA_B
#undef GLIA_TEMPLATE

}  // namespace glia
