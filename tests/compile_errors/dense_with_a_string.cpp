// expects: write glia::relu
#include <glia/layers/dense.hpp>

const glia::dense layer{16, "relu"};
