#pragma once

#include <cstddef>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"

namespace glia {

/// Applies passes that fuse kernels of a graph, if the backend B has the fused kernels. The results
/// are the same up to rounding. `varying` contains the indices of the inputs that change from run
/// to run. `quantized` lists the products that are quantized before other kernels are fused.
template <backend B>
void fuse_kernels(graph& g, const std::vector<std::size_t>& varying,
                  const quantization* quantized = nullptr) {
  prune(g);  // otherwise, unused nodes would count as users of their operands
  passes::fold_scaling(g, fixed_values(g, varying));
  if (quantized != nullptr) {
    passes::quantize_products(g, fixed_values(g, varying), *quantized);
  }
  passes::fuse_activation(g);
  if constexpr (runs<B, kernels::quantized_chain> && runs<B, kernels::pack_quantized>) {
    passes::fuse_quantized(g, fixed_values(g, varying));
  }
  if constexpr (runs<B, kernels::conv2d_max_pool2d>) {
    passes::fuse_pooling(g);
  }
  if constexpr (runs<B, kernels::conv2d_chain>) {
    passes::chain_convolutions(g);
  }
}

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
