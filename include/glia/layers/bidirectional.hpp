#pragma once

#include <utility>

#include "glia/layers/parallel.hpp"

namespace glia {

/// Runs two copies of a recurrent layer, one from the first step to the last and one in the
/// opposite direction.
///
/// The copies have separate parameters. By default their outputs are concatenated, the forward
/// direction first: bidirectional(gru{.units = 64}) returns (N, 128). With `return_sequences` it
/// returns (N, T, 128): row t holds the outputs of both directions for step t. `join` selects
/// another way to combine the outputs, as in `parallel`: bidirectional(gru{.units = 64},
/// join::add{}).
template <class Layer, branch_join Join = join::concat>
[[nodiscard]] auto bidirectional(Layer layer, Join join = {}) {
  layer.zero_output_for_mask = layer.return_sequences;
  Layer backward_layer = layer;
  backward_layer.go_backwards = !layer.go_backwards;
  return parallel{std::move(join), std::move(layer), std::move(backward_layer)};
}

}  // namespace glia
