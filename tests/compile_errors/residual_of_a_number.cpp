// expects: residual: expected layers
#include <glia/layers/residual.hpp>

const glia::residual layer{glia::relu, 5};
