// The cpu backend's loops.
#include "glia/backends/cpu_impl.hpp"

namespace glia {

template class cpu_kernels<float>;
template class cpu<float>;
[[gnu::used]] static const auto basic = cpu_loops::runs_of<float>(basic_kernels{});
[[gnu::used]] static const auto fused = cpu_loops::runs_of<float>(fused_kernels{});

}  // namespace glia
