#pragma once

#include <cstddef>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"

namespace glia {

/// Applies passes that fuse kernels of a graph into the `fused` kernels of a device. The results
/// are the same up to rounding. `varying` contains the indices of the inputs that change from run
/// to run. `quantize`, if not null, is applied after scales are folded and before products are
/// fused.
void fuse_kernels(graph& g, const std::vector<std::size_t>& varying, const fused_kernel_set& fused,
                  const function_ref<void(graph&)>* quantize = nullptr);

/// Marks nodes that can run on batch tiles, for batches of `rows` samples. Does nothing on backends
/// without lanes.
template <backend B>
void cut_for_lanes(graph& g, const B& device, std::size_t rows) {
  if constexpr (lane_backend<B>) {
    if (device.lane_count() > 0) {
      passes::cut_batch(
          g, rows, {.lanes = device.lane_count(), .real_bytes = sizeof(typename B::value_type)});
    }
  }
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/graph/passes/fuse_kernels.hpp"
#endif
