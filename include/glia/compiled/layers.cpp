#include "glia/glia.hpp"
#include "glia/models/plan_model_impl.hpp"
#include "glia/models/zoo/zoo_network.hpp"

namespace glia {

#define GLIA_TEMPLATE template
#include "glia/compiled/descriptions.inl"
#define GLIA_PART "glia/compiled/host.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#undef GLIA_TEMPLATE

#ifndef GLIA_COMPILED_FLOAT_ALONE
template const kernel_functions<cpu<double>>& detail::functions_of_device();
#endif
template variable<recorder> zoo_network::run_stage(scope<recorder>&, variable<recorder>,
                                                   std::size_t) const;

}  // namespace glia
