// expects: every argument must be a layer
#include <glia/layers/activation.hpp>
#include <glia/layers/sequential.hpp>

const glia::sequential layers{glia::relu, 5};
