#pragma once

#include <string>

#include "glia/core/inline.hpp"
#include "glia/models/grad_cam.hpp"

namespace glia::detail {

GLIA_INLINE std::string last_image_layer(const model_plan& plan) {
  const layer_node* found = nullptr;
  for (const layer_node& node : plan.nodes) {
    const bool is_inner = node.kind == layer_node_kind::layer || node.kind == layer_node_kind::join;
    if (is_inner && node.output.rank() == 4 && node.output[0] == 1) {
      found = &node;
    }
  }
  require<value_error>(found != nullptr,
                       "grad_cam: expected a model with a layer whose output is (N, H, W, C), such "
                       "as a convolution of images, got ",
                       plan.description);
  return found->name;
}

}  // namespace glia::detail
