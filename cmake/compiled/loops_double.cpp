// The cpu backend's loops.
#include "glia/backends/cpu_impl.hpp"

namespace glia {

template class cpu_kernels<double>;
template class cpu<double>;
[[gnu::used]] static const auto basic = cpu_loops::runs_of<double>(basic_kernels{});
[[gnu::used]] static const auto fused = cpu_loops::runs_of<double>(fused_kernels{});

}  // namespace glia
