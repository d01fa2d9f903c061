#pragma once

/// Passes: functions that rewrite graphs. They fuse kernels, find frozen parts, pack weights, and
/// cut batches into tiles.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/graph/quantization.hpp"

namespace glia::passes {

/// Folds a scale and a shift of each output of a product or convolution into its weights and bias,
/// as for batch normalization in inference: (x w + b) s + t = x (w s) + (b s + t). All of these
/// tensors must be `fixed`, so that this is computed once and not for every batch.
void fold_scaling(graph& g, const std::vector<bool>& fixed);

/// Fuses products and convolutions with the activation that follows, so that it is applied while
/// the results are in the cache. The results must have no other use. For products of quantized
/// numbers, the activation must only bound its operand.
void fuse_activation(graph& g);

/// Fuses a convolution, its activation and the max-pooling that follows into one kernel, and their
/// gradients likewise. The intermediate results must have no other use.
void fuse_pooling(graph& g);

/// Fuses consecutive convolutions into one kernel. The intermediate results must have no other use.
/// A chain begins with a convolution that has more output than input channels: between two chains,
/// the narrowest tensor is stored.
void chain_convolutions(graph& g);

/// Options of `cut_batch`.
struct cut_options {
  /// Number of lanes; batches with fewer samples are not cut.
  std::size_t lanes = 16;
  /// Least size of the intermediate tensors; several caches.
  std::size_t worthwhile_bytes = 2 << 20;
  /// Bytes that a kernel may read and write for a batch tile.
  std::size_t cache_bytes = 2 << 20;
  std::size_t most_samples = 8;  ///< largest number of samples in a batch tile
  double packing_cost = 4;  ///< cost per byte of weights, which are read and packed for each tile
  std::size_t real_bytes = sizeof(float);
};

/// Finds nodes that treat samples independently, so that batch tiles can go through all of them
/// while intermediate tensors stay in the cache. Moves these nodes next to each other and marks
/// them as stretches. `rows` is the number of samples.
void cut_batch(graph& g, std::size_t rows, const cut_options& options);

/// Returns whether a node treats samples independently: no sample affects the result of another
/// one.
[[nodiscard]] bool keeps_samples_apart(const graph& g, const graph_node& node,
                                       const std::vector<bool>& of_samples);

/// Returns whether the forward part of a recorded step mixes samples, as batch normalization does.
/// Then the batch size affects the result of every sample.
[[nodiscard]] bool mixes_samples(const graph& step);

/// Returns the output of the frozen prefix of a model: the last tensor that is always the same for
/// a sample and through which all other nodes depend on the samples. `samples` is the index of the
/// input that contains the samples. `varying` lists the indices of the inputs that change from step
/// to step. Returns nothing if there is no such tensor, or if the input itself is this tensor.
[[nodiscard]] std::optional<value_id> frozen_frontier(const graph& g, std::size_t samples,
                                                      const std::vector<std::size_t>& varying);

/// Cuts a graph so that it begins at one of its values, which replaces input `number`. Returns
/// false if other nodes use that input, or use another result of the value's node; the graph is
/// then unusable.
[[nodiscard]] bool begin_at(graph& g, std::size_t number, value_id value);

/// Finds the values of one graph in another one. Values correspond if they are computed in the same
/// way from inputs with the same names.
class counterpart {
 public:
  counterpart(const graph& from, const graph& in);

  [[nodiscard]] std::optional<value_id> of(value_id value) const {
    return in_from_[value] == unknown ? std::nullopt : std::optional(in_from_[value]);
  }

 private:
  static constexpr value_id unknown = no_value - 1;

  std::vector<value_id> in_from_;  // the counterpart of each value of the first graph
};

/// A graph in two parts. `once` has the same result in all runs with the same parameters and has no
/// other inputs. `each` is the rest; its last inputs are the outputs of `once`.
struct hoisted {
  graph once;
  graph each;
};

/// Splits a graph: `once` contains the nodes that depend neither on the inputs with the indices in
/// `varying` nor on values that cannot be fixed.
[[nodiscard]] hoisted hoist(graph g, const std::vector<std::size_t>& varying,
                            std::vector<bool> can_be_fixed = {});

/// Packs the weights of products and convolutions in the order in which loops read them, if they
/// are `fixed`. Then `hoist` can move the packing out of the part that runs for every batch.
void pack_weights(graph& g, const std::vector<bool>& fixed);

/// The node of a product or convolution with fixed weights, and the layer and number that identify
/// it in a quantization.
struct product_place {
  std::size_t node;
  std::string layer;
  std::size_t number;
};

/// Returns the products of a graph with fixed weights, in their order.
[[nodiscard]] std::vector<product_place> fixed_products(const graph& g,
                                                        const std::vector<bool>& fixed);

/// Throws `value_error` for scales that are not above 0 or a zero outside 0 to 255.
void require_scales(const quantized_product& one);

/// Quantizes the inputs and weights of a graph's products as listed in `how`. Throws `value_error`
/// if the graph does not have one of the products or a scale is invalid.
void quantize_products(graph& g, const std::vector<bool>& fixed, const quantization& how);

/// Removes redundant quantization. Exporters quantize a value again, with the same scale, after a
/// pooling or permutation; the last one is sufficient.
void merge_quantizers(graph& g);

/// Computes products and convolutions of values quantized by `fake_quantize`, with quantized
/// weights, as integers, and fuses consecutive ones into one kernel. All tensors except the samples
/// must be `fixed`, so that weights are packed once.
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
