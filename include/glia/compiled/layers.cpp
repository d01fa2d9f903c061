#include "glia/glia.hpp"
#include "glia/models/zoo/zoo_network.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_PART "glia/compiled/host.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#define GLIA_PART "glia/compiled/recording.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#define GLIA_PART "glia/compiled/layers.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#undef GLIA_TEMPLATE

template variable<recorder<cpu<float>>> zoo_network::run_stage(scope<recorder<cpu<float>>>&,
                                                               variable<recorder<cpu<float>>>,
                                                               std::size_t) const;

}  // namespace glia
