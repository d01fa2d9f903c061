#pragma once

#include <cstddef>
#include <vector>

#include "glia/core/function_ref.hpp"
#include "glia/graph/graph.hpp"
#include "glia/kernels/fused_kernel_set.hpp"

namespace glia::detail {

/// Applies passes that fuse kernels of a graph into the `fused` kernels of a device. The results
/// are the same up to rounding. `varying` contains the indices of the inputs that change from run
/// to run. `quantize`, if not null, is applied after scales are folded and before products are
/// fused.
void fuse_kernels(graph& g, const std::vector<std::size_t>& varying, const fused_kernel_set& fused,
                  const function_ref<void(graph&)>* quantize = nullptr);

}  // namespace glia::detail

#ifndef GLIA_COMPILED
#include "glia/graph/passes/fuse_kernels.hpp"
#endif
