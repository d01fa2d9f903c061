#pragma once

#include <cstddef>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/improve.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"

namespace glia::detail {

GLIA_INLINE void fuse_kernels(graph& g, const std::vector<std::size_t>& varying,
                              const fused_kernel_set& fused,
                              const function_ref<void(graph&)>* quantize) {
  prune(g);  // unused nodes would count as users of their operands
  passes::fold_scaling(g, fixed_values(g, varying));
  if (quantize != nullptr) {
    (*quantize)(g);
  }
  passes::fuse_activation(g);
  if (fused.contains<kernels::quantized_chain>() && fused.contains<kernels::pack_quantized>()) {
    passes::fuse_quantized(g, fixed_values(g, varying));
  }
  if (fused.contains<kernels::conv2d_max_pool2d>()) {
    passes::fuse_pooling(g);
  }
  if (fused.contains<kernels::conv2d_chain>()) {
    passes::chain_convolutions(g);
  }
}

}  // namespace glia::detail
