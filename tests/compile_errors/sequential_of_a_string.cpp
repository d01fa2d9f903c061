// expects: every argument must be a layer
#include <glia/layers/combinators.hpp>

const glia::sequential layers{glia::relu, "relu"};
