// expects: write glia::same
#include <glia/layers/conv2d.hpp>

const glia::conv2d layer{.filters = 4, .kernel_size = 3, .padding = "same"};
