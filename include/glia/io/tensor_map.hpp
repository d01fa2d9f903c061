#pragma once

#include <map>
#include <string>

#include "glia/core/xtensor.hpp"

namespace glia {

/// The tensors of a file, by name.
using tensor_map = std::map<std::string, xt::xarray<float>>;

}  // namespace glia
