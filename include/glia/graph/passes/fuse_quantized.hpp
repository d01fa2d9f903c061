#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/pooling.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::passes {

namespace detail {

/// A product of quantized factors as a link of a chain, with the pooling after it, if any.
struct integer_link {
  kernels::quantized_link link;
  value_id x = no_value;  // the input before its quantization and rearrangement
  value_id arranged = no_value;
  shape images{};  // shape of x as an operand of the product
  value_id x_scale = no_value;
  value_id w = no_value;
  value_id w_scales = no_value;
  value_id bias = no_value;
  bool flat = false;              // whether it is a matrix product
  std::size_t product = 0;        // index of the product's node
  std::size_t last = 0;           // index of the node that computes the link's result
  value_id out_scale = no_value;  // scale of the pooled bytes
  kernels::byte_range out{};
};

/// Finds products of quantized numbers and fuses them into chains.
class quantized_fusion {
 public:
  quantized_fusion(graph& g, const std::vector<bool>& fixed)
      : graph_(&g), fixed_(&fixed), uses_(g), gone_(g.nodes().size(), false) {}

  void run() {
    std::vector<std::vector<graph_node>> replacements(graph_->nodes().size());
    for (std::size_t n = 0; n < graph_->nodes().size(); ++n) {
      std::vector<integer_link> links;
      for (std::optional<std::size_t> next = n; next && links.size() < kernels::max_chain;) {
        const auto found = gone_[*next] ? std::nullopt : link_at(*next);
        if (!found || !continues(links, *found)) {
          break;
        }
        links.push_back(*found);
        next = found->flat ? std::nullopt : product_behind(found->last);
      }
      if (!links.empty()) {
        for (const integer_link& link : links) {
          gone_[link.product] = gone_[link.last] = true;
        }
        replacements[links.back().last] = chain_of(links);
      }
    }
    std::vector<graph_node> nodes;
    for (std::size_t n = 0; n < replacements.size(); ++n) {
      std::move(replacements[n].begin(), replacements[n].end(), std::back_inserter(nodes));
      if (!gone_[n]) {
        nodes.push_back(std::move(graph_->nodes()[n]));
      }
    }
    graph_->nodes() = std::move(nodes);
  }

 private:
  /// Returns the node that computes a value by quantizing with fixed scales; null for other values.
  [[nodiscard]] const graph_node* quantizer_of(value_id id, std::size_t scales) const {
    if (uses_.made_by<kernels::fake_quantize>(id) == nullptr) {
      return nullptr;
    }
    const graph_node& node = graph_->nodes()[uses_.maker(id)];
    const value_id scale = node.operands[1];
    return (*fixed_)[scale] && graph_->spec(scale).shape == shape{scales} ? &node : nullptr;
  }
  /// Like `quantizer_of`, but skips nodes that only rearrange elements, because these nodes do not
  /// change the bytes.
  [[nodiscard]] const graph_node* quantizer_before(value_id id) const {
    while (uses_.made_by<kernels::reshape>(id) != nullptr ||
           uses_.made_by<kernels::permute_axes>(id) != nullptr) {
      id = graph_->nodes()[uses_.maker(id)].operands[0];
    }
    return quantizer_of(id, 1);
  }
  /// Returns the node that quantizes a value, if the value has no other use; otherwise null.
  [[nodiscard]] const graph_node* quantizer_behind(value_id id) const {
    for (; uses_.taken_once(id); id = graph_->nodes()[uses_.takers(id)[0]].results[0]) {
      const graph_node& taker = graph_->nodes()[uses_.takers(id)[0]];
      if (taker.operands[0] == id && taker.kernel.as<kernels::fake_quantize>() != nullptr) {
        return quantizer_of(taker.results[0], 1);
      }
      if (taker.kernel.as<kernels::reshape>() == nullptr) {
        break;
      }
    }
    return nullptr;
  }
  [[nodiscard]] static kernels::byte_range range_of(const graph_node& quantizer) {
    return quantizer.kernel.as<kernels::fake_quantize>()->range;
  }

  [[nodiscard]] std::optional<integer_link> link_at(std::size_t n) const {
    const graph_node& node = graph_->nodes()[n];
    const auto* const dense = node.kernel.as<kernels::dense>();
    const auto* const conv = node.kernel.as<kernels::conv2d>();
    if (dense == nullptr && conv == nullptr) {
      return std::nullopt;
    }
    const value_id bias = node.operands[2];
    const shape weights = graph_->spec(node.operands[1]).shape;
    const graph_node* const x = quantizer_before(node.operands[0]);
    const graph_node* const w = quantizer_of(node.operands[1], weights.back());
    if (x == nullptr || w == nullptr || !(*fixed_)[w->operands[0]] ||
        (bias != no_value && !(*fixed_)[bias])) {
      return std::nullopt;
    }
    integer_link found;
    found.flat = dense != nullptr;
    found.link.product = dense != nullptr ? kernels::conv2d{{}, 1, dense->map} : *conv;
    found.link.weights = dense != nullptr ? shape{1, 1, weights[0], weights[1]} : weights;
    found.link.weight_range = range_of(*w);
    found.link.input = kernels::without_signs(range_of(*x));
    found.x = x->operands[0];
    found.arranged = node.operands[0];
    const shape extents = graph_->spec(node.operands[0]).shape;
    found.images = found.flat ? shape{1, extents[0], 1, extents[1]} : extents;
    found.x_scale = x->operands[1];
    found.w = w->operands[0];
    found.w_scales = w->operands[1];
    found.bias = bias;
    found.product = found.last = n;
    const kernels::byte_range& range = found.link.weight_range;
    const bool symmetric = range.zero == 0 && range.minimum < 0;
    if (!symmetric || found.images.size() == 0 ||
        !kernels::chains_quantized(found.link, sizes_of(found), true)) {
      return std::nullopt;
    }
    take_pooling(found);
    return found;
  }

  /// Includes max-pooling after the product if the pooled result is quantized. Pooling the bytes
  /// gives the same result, because the largest number also has the largest byte.
  void take_pooling(integer_link& candidate) const {
    const value_id y = graph_->nodes()[candidate.product].results[0];
    if (candidate.flat || !uses_.taken_once(y)) {
      return;
    }
    const std::size_t taker = uses_.takers(y)[0];
    const graph_node& node = graph_->nodes()[taker];
    const auto* const pool = node.kernel.as<kernels::max_pool2d>();
    // A link without a pooling has a window of one pixel.
    if (pool == nullptr || pool->window == window2d{} || kernels::is_padded(pool->window) ||
        pool->window.height > kernels::max_window_rows) {
      return;
    }
    const value_id positions = node.results[1];
    const bool positions_wanted =
        positions != no_value && (!uses_.takers(positions).empty() || uses_.leaves(positions));
    const graph_node* const quantizer = quantizer_behind(node.results[0]);
    if (!positions_wanted && quantizer != nullptr) {
      candidate.link.pool = pool->window;
      candidate.last = taker;
      candidate.out_scale = quantizer->operands[1];
      candidate.out = kernels::without_signs(range_of(*quantizer));
    }
  }

  [[nodiscard]] static kernels::window_sizes sizes_of(const integer_link& p) {
    return kernels::conv2d_rule(p.images, p.link.weights, p.link.product.window,
                                p.link.product.groups);
  }

  /// Returns whether a link can continue the chain of `links`. As in chain_convolutions, a link
  /// with more output channels than input channels begins a new chain, unless its input has just
  /// been pooled.
  [[nodiscard]] static bool continues(const std::vector<integer_link>& links,
                                      const integer_link& next) {
    if (links.empty()) {
      return true;
    }
    const kernels::window_sizes s = sizes_of(next);
    return !next.flat && kernels::chains_quantized(next.link, s, false) &&
           (s.groups > 1 || s.o <= s.c || links.back().link.pools());
  }

  /// Returns the index of the product that uses the result of node n, if only the quantization of
  /// this result is in between.
  [[nodiscard]] std::optional<std::size_t> product_behind(std::size_t n) const {
    const value_id y = graph_->nodes()[n].results[0];
    if (!uses_.taken_once(y)) {
      return std::nullopt;
    }
    const graph_node& quantizer = graph_->nodes()[uses_.takers(y)[0]];
    if (quantizer.kernel.as<kernels::fake_quantize>() == nullptr || quantizer.operands[0] != y ||
        !uses_.taken_once(quantizer.results[0])) {
      return std::nullopt;
    }
    const std::size_t next = uses_.takers(quantizer.results[0])[0];
    return graph_->nodes()[next].operands[0] == quantizer.results[0] ? std::optional(next)
                                                                     : std::nullopt;
  }

  [[nodiscard]] std::vector<graph_node> chain_of(const std::vector<integer_link>& links) {
    std::vector<graph_node> nodes;
    const integer_link& first = links.front();
    const integer_link& end = links.back();
    const std::uint32_t place = graph_->nodes()[end.last].place;
    const value_id result = graph_->nodes()[end.last].results[0];
    const any_kernel* quantizer = nullptr;
    const auto add = [&](const any_kernel& k, std::vector<value_id> operands,
                         const tensor_spec& spec) {
      const value_id id = graph_->add_value(spec);
      nodes.push_back({k, std::move(operands), {id}, place});
      return id;
    };
    const auto reshaped = [&](value_id x, const shape& target) {
      return graph_->spec(x).shape == target
                 ? x
                 : add(quantizer->made_into(kernels::reshape{target}), {x}, real_of(target));
    };
    kernels::quantized_chain chain{links.size()};
    chain.pooled = end.out;
    std::vector<value_id> operands(kernels::quantized_chain::operands, no_value);
    // The nodes that arrange quantized numbers.
    std::vector<const graph_node*> arranging;
    value_id id = first.arranged;
    for (; uses_.made_by<kernels::fake_quantize>(id) == nullptr;
         id = arranging.back()->operands[0]) {
      arranging.push_back(&graph_->nodes()[uses_.maker(id)]);
    }
    quantizer = &graph_->nodes()[uses_.maker(id)].kernel;
    operands[0] = first.x;
    for (; !arranging.empty(); arranging.pop_back()) {
      operands[0] =
          add(arranging.back()->kernel, {operands[0]}, graph_->spec(arranging.back()->results[0]));
    }
    operands[0] = reshaped(operands[0], first.images);
    operands[1] = first.x_scale;
    operands[2] = end.out_scale;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const integer_link& p = links[i];
      const bool preserves_output_kind = i + 1 < links.size();
      chain.links[i] = p.link;
      const kernels::pack_quantized pack{p.link, i == 0, preserves_output_kind || p.link.pools(),
                                         preserves_output_kind ? links[i + 1].link.input : p.out};
      operands[3 + i] = add(quantizer->made_into(pack),
                            {reshaped(p.w, p.link.weights), p.w_scales, p.bias, p.x_scale,
                             preserves_output_kind ? links[i + 1].x_scale : p.out_scale},
                            kernels::quantized_weights(p.link, i == 0).spec());
    }
    if (first.flat) {
      const shape y = sizes_of(first).output();
      const value_id rows = add(quantizer->made_into(chain), std::move(operands), real_of(y));
      nodes.push_back(
          {quantizer->made_into(kernels::reshape{{y[1], y[3]}}), {rows}, {result}, place});
    } else {
      nodes.push_back({quantizer->made_into(chain), std::move(operands), {result}, place});
    }
    return nodes;
  }

  graph* graph_;
  const std::vector<bool>* fixed_;
  graph_uses uses_;
  std::vector<bool> gone_;
};

}  // namespace detail

GLIA_INLINE void fuse_quantized(graph& g, const std::vector<bool>& fixed) {
  if (std::none_of(g.nodes().begin(), g.nodes().end(), [](const graph_node& node) {
        return node.kernel.as<kernels::fake_quantize>() != nullptr;
      })) {
    return;
  }
  merge_quantizers(g);
  prune(g);
  detail::quantized_fusion(g, fixed).run();
  prune(g);
}

}  // namespace glia::passes
