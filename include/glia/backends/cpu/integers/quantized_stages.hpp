#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "glia/backends/cpu/convolution/chain_layout.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::cpu_loops {

/// The stages of a chain of quantized convolutions, in order: products, poolings, and products that
/// are pooled before their results become bytes. If the chain begins with a depthwise convolution,
/// a stage before it copies the input into panels.
class quantized_stages {
 public:
  enum class stage_kind : std::uint8_t { input, product, pooled_product, depthwise, pool };

  /// `products` has the sizes of the links' products.
  quantized_stages(const kernels::quantized_chain& k, const shape& x,
                   const std::array<kernels::window_sizes, kernels::max_chain>& products) {
    if (k.links[0].depthwise()) {
      add(stage_kind::input, 0, {x[0], x[1], x[2], x[3], x[1], x[2], x[3], 1, {}});
    }
    for (std::size_t i = 0; i < k.count; ++i) {
      if (pools_at_once(k.links[i], count_ == 0)) {
        add(stage_kind::pooled_product, i, with_pooling(products[i], k.links[i].pool));
        continue;
      }
      add(k.links[i].depthwise() ? stage_kind::depthwise : stage_kind::product, i, products[i]);
      if (k.links[i].pools()) {
        kernels::window_sizes pool = kernels::pool_rule(products[i].output(), k.links[i].pool);
        pool.groups = pool.c;  // each channel separately
        add(stage_kind::pool, i, pool);
      }
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] stage_kind kind(std::size_t stage) const { return kinds_[stage]; }
  [[nodiscard]] bool multiplies(std::size_t stage) const {
    return kinds_[stage] == stage_kind::product || kinds_[stage] == stage_kind::pooled_product;
  }
  [[nodiscard]] std::size_t link(std::size_t stage) const { return links_[stage]; }
  /// Returns the sizes of each stage. The window of a pooled product covers all inputs of one
  /// pooled output.
  [[nodiscard]] std::span<const kernels::window_sizes> sizes() const {
    return {sizes_.data(), count_};
  }

 private:
  /// Returns whether a product is pooled before its results become bytes. The pooling windows must
  /// be separate groups of four outputs. A later 1 x 1 product, whose input is in panels, is
  /// excluded: a pooled product reads 2 x 2 pixels and cannot use a ring buffer of a few rows.
  [[nodiscard]] static bool pools_at_once(const kernels::quantized_link& link, bool first) {
    return !link.depthwise() && link.pool == window2d{2, 2, 2, 2} &&
           (first || !(link.product.window == window2d{}));
  }
  [[nodiscard]] static kernels::window_sizes with_pooling(kernels::window_sizes s,
                                                          const window2d& pool) {
    const kernels::window_sizes pooled = kernels::pool_rule(s.output(), pool);
    window2d& k = s.window;
    k.height = (k.height - 1) * k.dilation_height + 1 + (pool.height - 1) * k.stride_height;
    k.width = (k.width - 1) * k.dilation_width + 1 + (pool.width - 1) * k.stride_width;
    k.stride_height *= pool.stride_height;
    k.stride_width *= pool.stride_width;
    k.dilation_height = k.dilation_width = 1;
    s.oh = pooled.oh;
    s.ow = pooled.ow;
    return s;
  }

  void add(stage_kind kind, std::size_t link, const kernels::window_sizes& s) {
    kinds_[count_] = kind;
    links_[count_] = link;
    sizes_[count_++] = s;
  }

  std::size_t count_ = 0;
  std::array<stage_kind, chain_layout::max_stages> kinds_{};
  std::array<std::size_t, chain_layout::max_stages> links_{};
  std::array<kernels::window_sizes, chain_layout::max_stages> sizes_{};
};

}  // namespace glia::cpu_loops
