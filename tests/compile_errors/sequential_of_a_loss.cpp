// expects: every argument must be a layer
#include <glia/layers/activation.hpp>
#include <glia/layers/sequential.hpp>
#include <glia/losses/regression.hpp>

const glia::sequential layers{glia::relu, glia::mean_squared_error{}};
