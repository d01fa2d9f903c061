// expects: load: expected a model and a path
#include <glia/models/model_file.hpp>

const auto net = glia::load("net.safetensors");
