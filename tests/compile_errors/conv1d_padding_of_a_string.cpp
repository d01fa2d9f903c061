// expects: write glia::same, glia::valid or glia::causal
#include <glia/layers/conv1d.hpp>

const glia::conv1d layer{.filters = 4, .kernel_size = 3, .padding = "causal"};
