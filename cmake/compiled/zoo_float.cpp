// The layers of the model zoo's networks.
#include "glia/compiled/definitions.hpp"
#include "glia/models/zoo/zoo_network.hpp"

namespace glia {

template variable<recorder<cpu<float>>> zoo_network::run_stage(scope<recorder<cpu<float>>>&,
                                                               variable<recorder<cpu<float>>>,
                                                               std::size_t) const;

}  // namespace glia
