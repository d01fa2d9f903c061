// expects: write glia::relu
#include <glia/layers/activation.hpp>

const glia::activation layer{"relu"};
