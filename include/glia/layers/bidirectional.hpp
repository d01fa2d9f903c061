#pragma once

#include <utility>

#include "glia/layers/parallel.hpp"

namespace glia {

/// A recurrent layer that reads its sequences from both ends, each way with parameters of its own:
/// bidirectional(gru{.units = 64}) gives (N, 128), with `sequences` (N, T, 128), what was read from
/// the first step on in front. Another way to join both is given as for `parallel`.
template <class Layer, branch_join Join = join::concat>
[[nodiscard]] auto bidirectional(Layer layer, Join join = {}) {
  layer.zero_output_for_mask = layer.sequences;
  Layer back = layer;
  back.backwards = !layer.backwards;
  return parallel{std::move(join), std::move(layer), std::move(back)};
}

}  // namespace glia
