#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/convolution_chain.hpp"
#include "glia/kernels/packed_weights.hpp"
#include "glia/kernels/packing.hpp"
#include "glia/kernels/recurrence.hpp"

namespace glia::passes {

namespace detail {

/// Replaces the nodes of a graph, one after the other, by nodes with packed weights.
class weight_packer {
 public:
  weight_packer(graph& g, const std::vector<bool>& fixed, const fused_kernel_set& fused)
      : graph_(&g),
        fixed_(&fixed),
        transforms_convolutions_(fused.contains<kernels::packed_conv2d>() &&
                                 fused.contains<kernels::pack_transformed>()) {}

  void run() {
    for (graph_node& node : graph_->nodes()) {
      const auto* const steps = node.kernel.as<kernels::recurrence>();
      if (steps != nullptr && (*fixed_)[node.operands[1]]) {
        pack_recurrence(node, *steps);
      } else if (all_fixed(node)) {
        pack(node);
      }
      nodes_.push_back(std::move(node));
    }
    graph_->nodes() = std::move(nodes_);
  }

 private:
  /// Returns whether all operands except the first are fixed.
  [[nodiscard]] bool all_fixed(const graph_node& node) const {
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      if (node.operands[i] != no_value && !(*fixed_)[node.operands[i]]) {
        return false;
      }
    }
    return true;
  }

  void pack(graph_node& node) {
    if (const auto* dense = node.kernel.as<kernels::dense>()) {
      node.operands.push_back(panels(node, node.operands[1], no_value));
      node.kernel = node.kernel.made_into(kernels::packed_dense{dense->map});
    } else if (const auto* pooled = node.kernel.as<kernels::conv2d_max_pool2d>()) {
      pack_pooled(node, *pooled);
    } else if (const auto* conv = node.kernel.as<kernels::conv2d>()) {
      pack_convolution(node, *conv);
    } else if (const auto* chain = node.kernel.as<kernels::conv2d_chain>()) {
      pack_chain(node, *chain);
    }
  }

  void pack_pooled(graph_node& node, const kernels::conv2d_max_pool2d& pooled) {
    if (pooled.keeps_positions || pooled.geometry.groups != 1) {
      return;
    }
    const value_id w = node.operands[1];
    if (transforms(pooled.geometry, graph_->spec(w).shape)) {
      node.operands.push_back(transformed(node, w));
    } else {
      node.operands.push_back(panels(node, w, node.operands[2], false));
    }
    node.results.resize(1);
    node.kernel =
        node.kernel.made_into(kernels::packed_conv2d_max_pool2d{pooled.geometry, pooled.map});
  }

  /// Replaces a single convolution by one with transformed weights or by a chain of one link. If it
  /// processes the steps of only a few sequences, too few to share among threads, replaces it by a
  /// product.
  void pack_convolution(graph_node& node, const kernels::conv2d& conv) {
    const shape x = graph_->spec(node.operands[0]).shape;
    const shape w = graph_->spec(node.operands[1]).shape;
    if (conv.window == window2d{} && conv.groups == 1 && x[1] == 1 && x[0] < few_sequences) {
      return pack_product(node, conv, x, w);
    }
    const kernels::window_sizes s = kernels::conv2d_rule(x, w, conv.window, conv.groups);
    if (transforms_convolutions_ && transforms(s)) {
      node.operands.push_back(transformed(node, node.operands[1]));
      node.kernel = node.kernel.made_into(kernels::packed_conv2d{conv.window, conv.map});
      return;
    }
    if (chains(conv.map, s, true)) {
      kernels::conv2d_chain chain{1};
      chain.links[0] = conv;
      node.operands.resize(kernels::conv2d_chain::operands, no_value);
      pack_chain(node, chain);
    }
  }

  void pack_chain(graph_node& node, kernels::conv2d_chain chain) {
    if (chain.is_packed()) {
      return;
    }
    for (std::size_t i = 0; i < chain.count; ++i) {
      value_id& w = node.operands[1 + 2 * i];
      value_id& bias = node.operands[2 + 2 * i];
      chain.packed[i] = graph_->spec(w).shape;
      w = panels(node, w, std::exchange(bias, no_value), chain.links[i].groups == 1);
    }
    node.kernel = node.kernel.made_into(chain);
  }

  void pack_product(graph_node& node, const kernels::conv2d& conv, const shape& x, const shape& w) {
    const auto add = [&](const auto& k, std::vector<value_id> operands, const shape& s) {
      const value_id result = graph_->add_value(real_of(s));
      nodes_.push_back({node.kernel.made_into(k), std::move(operands), {result}, node.place});
      return result;
    };
    const std::size_t rows = x[0] * x[1] * x[2];
    const shape matrix{w[2], w[3]};
    const value_id flat = add(kernels::reshape{{rows, x[3]}}, {node.operands[0]}, {rows, x[3]});
    const value_id weights = add(kernels::reshape{matrix}, {node.operands[1]}, matrix);
    const value_id packed = panels(node, weights, no_value);
    const value_id y = add(kernels::packed_dense{conv.map},
                           {flat, weights, node.operands[2], packed}, {rows, w[3]});
    node.kernel = node.kernel.made_into(kernels::reshape{{x[0], x[1], x[2], w[3]}});
    node.operands = {y};
  }

  void pack_recurrence(graph_node& node, kernels::recurrence steps) {
    if (!steps.packed) {
      node.operands[1] = panels(node, node.operands[1], no_value);
      steps.packed = true;
      node.kernel = node.kernel.made_into(steps);
    }
  }

  /// Packs the weights of a node. `rounded` is whether they may be rounded.
  [[nodiscard]] value_id panels(const graph_node& node, value_id w, value_id bias,
                                bool rounded = true) {
    const value_id packed =
        graph_->add_value(kernels::pack_panels::result(graph_->spec(w), graph_->spec(bias)));
    nodes_.push_back(
        {node.kernel.made_into(kernels::pack_panels{rounded}), {w, bias}, {packed}, node.place});
    return packed;
  }

  [[nodiscard]] value_id transformed(const graph_node& node, value_id w) {
    const value_id packed = graph_->add_value(kernels::pack_transformed::result(graph_->spec(w)));
    nodes_.push_back(
        {node.kernel.made_into(kernels::pack_transformed{}), {w}, {packed}, node.place});
    return packed;
  }

  // With more sequences, each thread processes some of them.
  static constexpr std::size_t few_sequences = 8;

  graph* graph_;
  const std::vector<bool>* fixed_;
  bool transforms_convolutions_;
  std::vector<graph_node> nodes_;
};

}  // namespace detail

GLIA_INLINE void pack_weights(graph& g, const std::vector<bool>& fixed,
                              const fused_kernel_set& fused) {
  detail::weight_packer(g, fixed, fused).run();
}

}  // namespace glia::passes
