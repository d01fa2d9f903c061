#pragma once

/// Rewrites of graphs: what fuses kernels, finds frozen parts, packs weights, cuts batches.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/graph/quantization.hpp"

namespace glia::passes {

/// A product or convolution whose outputs are multiplied by one number each and shifted by another,
/// as a batch normalisation in inference does, gets other weights and another bias instead:
/// (x w + b) s + t = x (w s) + (b s + t). All of these must be `fixed`, so that it is done once and
/// not for each sample.
void fold_scaling(graph& g, const std::vector<bool>& fixed);

/// Products and convolutions apply the function that comes behind them themselves, while their
/// results are in the cache, where nobody else wants these. Products of quantised numbers do so
/// where it only bounds them.
void fuse_activation(graph& g);

/// A convolution, its activation and the max-pooling behind it become one kernel, and so do their
/// gradients, where nobody else wants what is between them.
void fuse_pooling(graph& g);

/// Convolutions that follow each other become one kernel, where nobody else wants what is between
/// them. One that widens its input begins a chain: between two, the narrowest tensor is stored.
void chain_convolutions(graph& g);

/// How `cut_batch` cuts.
struct cut_options {
  std::size_t lanes = 16;                  ///< batches of fewer samples are not cut
  std::size_t worthwhile_bytes = 2 << 20;  ///< of what passes between nodes; some caches' worth
  std::size_t cache_bytes = 2 << 20;       ///< what a kernel may read and write of a piece
  std::size_t most_samples = 8;            ///< of a piece
  double packing_cost = 4;  ///< of weights, which are read, mostly packed, and read for each piece
  std::size_t real_bytes = sizeof(float);
};

/// Finds the nodes that treat samples on their own and can so run depth-first: a few samples at a
/// time through all of them, while what passes between them is in the cache. They are put next to
/// each other and marked as stretches. `rows` is the number of samples.
void cut_batch(graph& g, std::size_t rows, const cut_options& options);

/// Whether a node gives rows for rows: nothing of one sample goes into another one's result.
[[nodiscard]] bool keeps_samples_apart(const graph& g, const graph_node& node,
                                       const std::vector<bool>& of_samples);

/// Whether samples meet in the forward part of what was recorded, as in a batch normalisation: one
/// more or less in the batch then changes what the others give.
[[nodiscard]] bool mixes_samples(const graph& step);

/// The last tensor that is always the same for a sample, however a model is trained, and through
/// which alone the rest of the graph sees the samples: what frozen layers give. `samples` is their
/// input, `varying` are the inputs that change from step to step. None where there is no such
/// tensor, or it is the samples themselves.
[[nodiscard]] std::optional<value_id> frozen_frontier(const graph& g, std::size_t samples,
                                                      const std::vector<std::size_t>& varying);

/// Lets a graph begin at one of its tensors, which takes the place of input `number`. False where
/// others take that input, too, or something else that its maker gives; the graph is no good then.
[[nodiscard]] bool begin_at(graph& g, std::size_t number, value_id value);

/// Finds tensors of one graph in another, by how they come from inputs of the same names.
class counterpart {
 public:
  counterpart(const graph& from, const graph& in);

  [[nodiscard]] std::optional<value_id> of(value_id value) const {
    return in_from_[value] == unknown ? std::nullopt : std::optional(in_from_[value]);
  }

 private:
  static constexpr value_id unknown = no_value - 1;

  std::vector<value_id> in_from_;  // what each tensor of the first graph is in the other
};

/// A graph in two: what is the same in every run with the same parameters, which has no other
/// inputs, and the rest, whose last inputs are what the first gives.
struct hoisted {
  graph once;
  graph each;
};

/// Takes out of a graph what does not depend on the `varying` inputs, by their numbers, nor on what
/// cannot be fixed.
[[nodiscard]] hoisted hoist(graph g, const std::vector<std::size_t>& varying,
                            std::vector<bool> can_be_fixed = {});

/// Packs the weights of products and convolutions for their loops where they are `fixed`, so that
/// `hoist` can take the packing out of what runs for each batch.
void pack_weights(graph& g, const std::vector<bool>& fixed);

/// A product or convolution with fixed weights: by which layer's name and number a quantization
/// finds it.
struct product_place {
  std::size_t node;
  std::string layer;
  std::size_t number;
};

/// Those of a graph, in their order.
[[nodiscard]] std::vector<product_place> fixed_products(const graph& g,
                                                        const std::vector<bool>& fixed);

/// Throws `value_error` for scales that are not above 0, and for a zero that is no byte.
void require_scales(const quantized_product& one);

/// Quantises the inputs and weights of a graph's products as `how` says. Throws `value_error` for
/// one that the graph does not have, and for scales that are none.
void quantize_products(graph& g, const std::vector<bool>& fixed, const quantization& how);

/// Where what has been quantised is pooled, turned or nothing, and quantised by the same scale once
/// more, as exporters write it around each of these, the last time is enough.
void merge_quantizers(graph& g);

/// Products and convolutions of numbers that `fake_quantize` gives, with weights that it gives too,
/// are computed with integers, those that follow each other as one kernel. All but the samples must
/// be `fixed`, so that weights are packed once.
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
