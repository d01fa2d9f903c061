// What examples instantiate for devices of XLA's, compiled once for all of them.
#include "device.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#define GLIA_B pjrt<float>
#define GLIA_R recorder<pjrt<float>>
#include <glia/compiled/inference.inl>
#include <glia/compiled/layers.inl>
#include <glia/compiled/recording.inl>
#include <glia/compiled/training.inl>
#undef GLIA_R
#undef GLIA_B
#undef GLIA_TEMPLATE

}  // namespace glia
