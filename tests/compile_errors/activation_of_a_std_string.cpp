// expects: write glia::relu
#include <glia/layers/dense.hpp>

const std::string name = "relu";
const glia::dense layer{.units = 16, .activation = name};
