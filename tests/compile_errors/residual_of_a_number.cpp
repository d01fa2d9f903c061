// expects: residual: expected layers
#include <glia/layers/combinators.hpp>

const glia::residual layer{glia::relu, 5};
