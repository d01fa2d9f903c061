#pragma once

/// Passes: functions that rewrite graphs. They fuse kernels, find frozen parts, pack weights, and
/// cut batches into tiles.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/graph/quantization.hpp"
#include "glia/kernels/fused_kernel_set.hpp"

namespace glia::passes {

/// Folds a scale and a shift of each output of a product or convolution into its weights and bias,
/// as for batch normalization in inference: (x w + b) s + t = x (w s) + (b s + t). All of these
/// tensors must be `fixed`, so that w s and b s + t are computed once and not for every batch.
void fold_scaling(graph& g, const std::vector<bool>& fixed);

/// Fuses each product or convolution with the activation after it, so that the activation is
/// applied while the results are in the cache. The results must have no other use. For products of
/// quantized numbers, the activation must only bound its operand.
void fuse_activation(graph& g);

/// Fuses a convolution, its activation and the max-pooling after it into one kernel. Fuses the
/// kernels of their gradients, too. The intermediate results must have no other use.
void fuse_pooling(graph& g);

/// Fuses consecutive convolutions into one kernel. The intermediate results must have no other use.
/// A chain begins with a convolution that has more output channels than input channels, so that the
/// tensor between two chains, which is stored, has few channels.
void chain_convolutions(graph& g);

/// Options of `cut_batch`.
struct cut_options {
  /// Number of lanes; batches with fewer samples are not cut.
  std::size_t lanes = 16;
  /// Smallest total size of the intermediate tensors for which tiles pay, in bytes: several times a
  /// cache.
  std::size_t worthwhile_bytes = 2 << 20;
  /// Bytes that a kernel may read and write for a batch tile.
  std::size_t cache_bytes = 2 << 20;
  std::size_t most_samples = 8;  ///< largest number of samples in a batch tile
  double packing_cost = 4;       ///< cost of reading and packing a byte of weights for a tile
  std::size_t real_bytes = sizeof(float);
};

/// Finds nodes that treat samples independently. Batch tiles can go through all of these nodes
/// while intermediate tensors stay in the cache. Moves these nodes next to each other and marks
/// them as stretches. `rows` is the number of samples.
void cut_batch(graph& g, std::size_t rows, const cut_options& options);

/// Returns whether a node treats samples independently: no sample affects the result of another
/// one.
[[nodiscard]] bool keeps_samples_apart(const graph& g, const graph_node& node,
                                       const std::vector<bool>& of_samples);

/// Returns whether the forward part of a recorded step mixes samples, as batch normalization does.
/// If it does, the batch size affects the result of every sample.
[[nodiscard]] bool mixes_samples(const graph& step);

/// Returns the output of the frozen prefix of a model: the last tensor that never changes for a
/// given sample and through which all other nodes get the samples. `samples` is the index of the
/// input with the samples. `varying` contains the indices of the inputs that change from step to
/// step. Returns nothing if no tensor has this property, or only the input itself.
[[nodiscard]] std::optional<value_id> frozen_frontier(const graph& g, std::size_t samples,
                                                      const std::vector<std::size_t>& varying);

/// Removes the beginning of a graph: `value` becomes the input with the index `number`, and the
/// nodes that computed it are removed. Returns false if other nodes use the old input, or another
/// result of the node that computed `value`. The graph is then unusable.
[[nodiscard]] bool begin_at(graph& g, std::size_t number, value_id value);

/// Finds the values of the graph `source` in the graph `target`. Values correspond if they are
/// computed in the same way from inputs with the same names.
class counterpart {
 public:
  counterpart(const graph& source, const graph& target);

  /// Returns the counterpart of a value of `source`, or nothing if there is none.
  [[nodiscard]] std::optional<value_id> find(value_id value) const {
    return counterparts_[value] == unknown ? std::nullopt : std::optional(counterparts_[value]);
  }

 private:
  static constexpr value_id unknown = no_value - 1;

  std::vector<value_id> counterparts_;  // for each value of `source`: its counterpart in `target`
};

/// A graph that is split into two graphs. `fixed` has no inputs that change from run to run, so its
/// results are the same in all runs with the same parameters. `varying` contains all other nodes;
/// its last inputs are the outputs of `fixed`.
struct hoisted {
  graph fixed;
  graph varying;
};

/// Splits a graph: `hoisted::fixed` gets the nodes that depend neither on the inputs with the
/// indices in `varying`, nor on values for which `can_be_fixed` is false.
[[nodiscard]] hoisted hoist(graph g, const std::vector<std::size_t>& varying,
                            std::vector<bool> can_be_fixed = {});

/// Packs the weights of products and convolutions in the order in which loops read them, if the
/// weights are `fixed`. `hoist` can then move the packing to the graph that does not run for every
/// batch. The kernel `packed_conv2d` is only used if it is in `fused`.
void pack_weights(graph& g, const std::vector<bool>& fixed,
                  const fused_kernel_set& fused = fused_kernel_set::all());

/// The node of a product or convolution with fixed weights, and the layer and number that identify
/// it in a quantization.
struct product_place {
  std::size_t node;
  std::string layer;
  std::size_t number;
};

/// Returns the products and convolutions with fixed weights, in the order of the graph's nodes.
[[nodiscard]] std::vector<product_place> fixed_products(const graph& g,
                                                        const std::vector<bool>& fixed);

/// Throws `value_error` if a scale is not above 0, or if the input's zero is not in 0 ... 255.
void require_scales(const quantized_product& product);

/// Quantizes the inputs and weights of the products that `plan` lists. Throws `value_error` if the
/// graph does not contain one of these products, or if a scale is invalid.
void quantize_products(graph& g, const std::vector<bool>& fixed, const quantization& plan);

/// Removes redundant quantization. Exporters quantize a value again, with the same scale, after a
/// pooling or permutation. The last quantization is sufficient.
void merge_quantizers(graph& g);

/// Replaces products and convolutions of numbers and weights that `fake_quantize` rounds: the new
/// kernels compute with integers. Consecutive products are fused into one kernel. All tensors
/// except the samples must be `fixed`, so that weights are packed once.
void fuse_quantized(graph& g, const std::vector<bool>& fixed);

}  // namespace glia::passes

#ifndef GLIA_COMPILED
#include "glia/graph/passes/chain_convolutions.hpp"
#include "glia/graph/passes/cut_batch.hpp"
#include "glia/graph/passes/fold_scaling.hpp"
#include "glia/graph/passes/frozen_frontier.hpp"
#include "glia/graph/passes/fuse_activation.hpp"
#include "glia/graph/passes/fuse_pooling.hpp"
#include "glia/graph/passes/fuse_quantized.hpp"
#include "glia/graph/passes/hoist.hpp"
#include "glia/graph/passes/merge_quantizers.hpp"
#include "glia/graph/passes/pack_weights.hpp"
#include "glia/graph/passes/quantize_products.hpp"
#include "glia/graph/passes/samples_apart.hpp"
#endif
