#include "glia/glia.hpp"
#include "glia/layers/initializer_impl.hpp"
#include "glia/layers/option_writer_impl.hpp"
#include "glia/layers/parameters_impl.hpp"
#include "glia/layers/preprocessing_impl.hpp"
#include "glia/layers/scope_impl.hpp"
#include "glia/layers/shared_layers_impl.hpp"
#include "glia/layers/stream_recording_impl.hpp"
#include "glia/models/plan_model_impl.hpp"
#include "glia/models/zoo/zoo_network_impl.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#include "glia/compiled/kernel_types.inl"
#include "glia/compiled/layers.inl"
#include "glia/compiled/losses.inl"
#undef GLIA_TEMPLATE

}  // namespace glia
