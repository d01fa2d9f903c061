#pragma once

#include <span>
#include <vector>

#include "glia/graph/graph.hpp"

namespace glia {

/// Adds the nodes to a graph that compute the gradients of one of its values with respect to
/// others, and returns the gradients in the order of `sources`.
///
/// The gradient is that of the sum of all elements of `result`. It is `no_value` for a value on
/// which the result does not depend. A training step does the same while it is recorded: each
/// kernel has one derivative, which a tape runs, and which stands beside the kernel.
///
/// Call it again on the gradients for second derivatives, such as those of a gradient penalty or of
/// a differential equation. They exist for products, convolutions, activations, softmax and average
/// pooling, but not for normalization, max pooling and the fused kernels of recurrent layers,
/// attention and `softmax_cross_entropy`. A recorder without fused kernels records the first two of
/// these as other kernels.
///
/// Throws `value_error`, and leaves the graph as it was, if a value is not one of the graph, if the
/// result depends on none of the sources, or if a kernel between them has no derivative, for
/// example because a function was fused with it: differentiate a graph before its passes.
[[nodiscard]] std::vector<value_id> differentiate(graph& calls, value_id result,
                                                  std::span<const value_id> sources);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/ops/differentiate_impl.hpp"
#endif
