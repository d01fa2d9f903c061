#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::passes {

namespace detail {

/// A product whose factors are quantised, as a link of a chain.
struct quantized_product {
  quantized_link link;
  value_id x = no_value;  // before it is quantised
  shape images{};         // what the product takes x as
  value_id x_scale = no_value;
  value_id w = no_value;
  value_id w_scales = no_value;
  value_id bias = no_value;
  bool flat = false;  // a product of matrices
};

/// Finds products of quantised numbers and makes chains of them.
class quantized_fusion {
 public:
  quantized_fusion(graph& g, const std::vector<bool>& fixed)
      : graph_(&g), fixed_(&fixed), uses_(g), gone_(g.nodes().size(), false) {}

  void run() {
    std::vector<graph_node> made;
    std::vector<std::vector<graph_node>> instead(graph_->nodes().size());
    for (std::size_t n = 0; n < graph_->nodes().size(); ++n) {
      if (gone_[n]) {
        continue;
      }
      std::vector<quantized_product> links;
      std::size_t last = n;
      for (std::size_t next = n; links.size() < max_chain;) {
        const auto found = product_at(next);
        if (!found || !continues(links, *found)) {
          break;
        }
        last = next;
        links.push_back(*found);
        const std::optional<std::size_t> taker = next_product(next);
        if (found->flat || !taker) {
          break;
        }
        next = *taker;
      }
      if (!links.empty()) {
        mark(n, last, links.size());
        instead[last] = chain_of(links, graph_->nodes()[last]);
      }
    }
    for (std::size_t n = 0; n < instead.size(); ++n) {
      if (!instead[n].empty()) {
        std::move(instead[n].begin(), instead[n].end(), std::back_inserter(made));
      } else if (!gone_[n]) {
        made.push_back(std::move(graph_->nodes()[n]));
      }
    }
    graph_->nodes() = std::move(made);
  }

 private:
  /// The node that gives a value if it is quantised with scales that stay as they are, else null.
  [[nodiscard]] const graph_node* quantizer_of(value_id id, std::size_t scales) const {
    if (uses_.made_by<kernels::fake_quantize>(id) == nullptr) {
      return nullptr;
    }
    const graph_node& node = graph_->nodes()[uses_.maker(id)];
    const value_id given = node.operands[1];
    return (*fixed_)[given] && graph_->spec(given).shape == shape{scales} ? &node : nullptr;
  }

  [[nodiscard]] std::optional<quantized_product> product_at(std::size_t n) const {
    const graph_node& node = graph_->nodes()[n];
    const auto* const dense = node.kernel.as<kernels::dense>();
    const auto* const conv = node.kernel.as<kernels::conv2d>();
    if (dense == nullptr && conv == nullptr) {
      return std::nullopt;
    }
    const value_id bias = node.operands[2];
    const shape weights = graph_->spec(node.operands[1]).shape;
    // What only relabels may come between: bytes stay what they are.
    const value_id taken = uses_.made_by<kernels::reshape>(node.operands[0]) != nullptr
                               ? graph_->nodes()[uses_.maker(node.operands[0])].operands[0]
                               : node.operands[0];
    const graph_node* const x = quantizer_of(taken, 1);
    const graph_node* const w = quantizer_of(node.operands[1], weights.back());
    if (x == nullptr || w == nullptr || !(*fixed_)[w->operands[0]] ||
        (bias != no_value && !(*fixed_)[bias])) {
      return std::nullopt;
    }
    quantized_product found;
    found.flat = dense != nullptr;
    found.link.product = dense != nullptr ? kernels::conv2d{{}, 1, dense->map} : *conv;
    found.link.weights = dense != nullptr ? shape{1, 1, weights[0], weights[1]} : weights;
    found.link.weight_range = w->kernel.as<kernels::fake_quantize>()->range;
    found.link.input = without_signs(x->kernel.as<kernels::fake_quantize>()->range);
    found.x = x->operands[0];
    const shape in = graph_->spec(node.operands[0]).shape;
    found.images = found.flat ? shape{1, in[0], 1, in[1]} : in;
    found.x_scale = x->operands[1];
    found.w = w->operands[0];
    found.w_scales = w->operands[1];
    found.bias = bias;
    const byte_range& range = found.link.weight_range;
    const bool symmetric = range.zero == 0 && range.least < 0;
    if (!symmetric || graph_->spec(found.x).shape.size() == 0 ||
        !chains_quantized(found.link, sizes_of(found), true)) {
      return std::nullopt;
    }
    return found;
  }

  [[nodiscard]] static window_sizes sizes_of(const quantized_product& p) {
    return conv2d_rule(p.images, p.link.weights, p.link.product.window, p.link.product.groups);
  }

  /// Whether it may stand behind these: as in chain_convolutions, one that widens begins a chain.
  [[nodiscard]] bool continues(const std::vector<quantized_product>& links,
                               const quantized_product& next) const {
    if (links.empty()) {
      return true;
    }
    const window_sizes s = sizes_of(next);
    return !next.flat && chains_quantized(next.link, s, false) && (s.groups > 1 || s.o <= s.c);
  }

  /// The product behind one, where nothing but its quantisation is between them.
  [[nodiscard]] std::optional<std::size_t> next_product(std::size_t n) const {
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

  /// Marks the nodes of a chain.
  void mark(std::size_t first, std::size_t last, std::size_t count) {
    gone_[first] = true;
    for (std::size_t n = first; --count > 0;) {
      n = *next_product(n);
      gone_[n] = true;
    }
    gone_[last] = true;
  }

  [[nodiscard]] std::vector<graph_node> chain_of(const std::vector<quantized_product>& links,
                                                 const graph_node& last) {
    std::vector<graph_node> made;
    const auto add = [&](const any_kernel& k, std::vector<value_id> operands,
                         const tensor_spec& spec) {
      const value_id id = graph_->add_value(spec);
      made.push_back({k, std::move(operands), {id}, last.place});
      return id;
    };
    const auto reshaped = [&](value_id x, const shape& to) {
      return graph_->spec(x).shape == to ? x : add(kernels::reshape{to}, {x}, real_of(to));
    };
    const quantized_product& first = links.front();
    kernels::quantized_chain chain{links.size()};
    std::vector<value_id> operands(kernels::quantized_chain::operands, no_value);
    operands[0] = reshaped(first.x, first.images);
    operands[1] = first.x_scale;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const quantized_product& p = links[i];
      const bool to_bytes = i + 1 < links.size();
      chain.links[i] = p.link;
      kernels::pack_quantized pack{p.link, i == 0, to_bytes, {}};
      if (to_bytes) {
        pack.out = links[i + 1].link.input;
      }
      operands[2 + i] = add(pack,
                            {reshaped(p.w, p.link.weights), p.w_scales, p.bias, p.x_scale,
                             to_bytes ? links[i + 1].x_scale : no_value},
                            quantized_weights(p.link, i == 0).spec());
    }
    if (first.flat) {
      const shape y = sizes_of(first).output();
      const value_id rows = add(chain, std::move(operands), real_of(y));
      made.push_back({kernels::reshape{{y[1], y[3]}}, {rows}, last.results, last.place});
    } else {
      made.push_back({chain, std::move(operands), last.results, last.place});
    }
    return made;
  }

  graph* graph_;
  const std::vector<bool>* fixed_;
  graph_uses uses_;
  std::vector<bool> gone_;
};

}  // namespace detail

/// Products and convolutions of numbers that `fake_quantize` gives, with weights that it gives too,
/// are computed with integers, those that follow each other as one kernel. All but the samples must
/// be `fixed`, so that weights are packed once.
inline void fuse_quantized(graph& g, const std::vector<bool>& fixed) {
  detail::quantized_fusion(g, fixed).run();
  prune(g);
}

}  // namespace glia::passes
