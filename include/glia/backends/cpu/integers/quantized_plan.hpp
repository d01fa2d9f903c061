#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "glia/backends/cpu/convolution/chain_layout.hpp"
#include "glia/backends/cpu/convolution/padded_image.hpp"
#include "glia/backends/cpu/integers/quantized_packing.hpp"
#include "glia/backends/cpu/integers/quantized_stages.hpp"
#include "glia/backends/cpu/loops/integer_operands.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::cpu_loops {

/// The work of a thread: an image, its result, the thread's scratch memory, and the panels of
/// outputs if the chain is one product. The scratch memory has the rows between stages, as in
/// `chain_layout`. After them come the input rows of the first stage, or a row of padding if that
/// stage copies the image into panels.
struct quantized_task {
  const float* x;
  float* y;
  std::uint8_t* scratch;
  std::size_t first_panel;
  std::size_t end_panel;
};

/// The stages of one call with their layouts, weights and scales. All threads read it.
template <class Loops>
class quantized_plan {
 public:
  using stage_kind = quantized_stages::stage_kind;

  static constexpr std::size_t width = Loops::panel_width;

  /// `pooled_scale` is the scale of the bytes that a final pooling reads, if there is a final
  /// pooling.
  quantized_plan(const kernels::quantized_chain& k, const quantized_stages& stages, float x_scale,
                 float pooled_scale, std::span<const std::uint8_t* const> packed,
                 const memory_pool& memory)
      : kernel_(&k),
        per_scale_(1 / x_scale),
        pooled_scale_(pooled_scale),
        stages_(stages),
        layout_(stages_.sizes(), width, 1, ring_bytes),
        image_(stages_.sizes()[0]) {
    std::copy(packed.begin(), packed.end(), packed_.begin());
    for (std::size_t i = 0; i < count(); ++i) {
      if (multiplies(i) || kind(i) == stage_kind::depthwise) {
        panels_[i].emplace(link(i), stages_.link(i) == 0,
                           !layout_.last(i) || kind(i) == stage_kind::pooled_product);
      }
      if (multiplies(i)) {
        offsets_[i] = detail::host_tensor<std::uint32_t>(memory, {panels_[i]->steps()});
        list_offsets(i);
      }
    }
  }
  quantized_plan(const quantized_plan&) = delete;
  quantized_plan& operator=(const quantized_plan&) = delete;

  [[nodiscard]] std::size_t count() const { return stages_.count(); }
  [[nodiscard]] stage_kind kind(std::size_t stage) const { return stages_.kind(stage); }
  [[nodiscard]] bool multiplies(std::size_t stage) const { return stages_.multiplies(stage); }
  [[nodiscard]] bool begins_in_panels() const { return kind(0) == stage_kind::input; }
  [[nodiscard]] const kernels::quantized_link& link(std::size_t stage) const {
    return kernel_->links[stages_.link(stage)];
  }
  /// Returns the layout of the rows between the stages.
  [[nodiscard]] const chain_layout& layout() const { return layout_; }
  /// Returns the geometry of the first stage's input.
  [[nodiscard]] const padded_image& image() const { return image_; }

  /// Returns the number of panels of a stage that has weights.
  [[nodiscard]] std::size_t panels(std::size_t stage) const { return panels_[stage]->count(); }
  /// Returns the operands for one panel of a stage that has weights.
  [[nodiscard]] integer_products products(std::size_t stage, std::size_t panel) const {
    return panels_[stage]->read(packed_[stages_.link(stage)], panel, offsets_[stage].data());
  }

  /// Converts numbers of the image to bytes.
  void quantize(const float* x, std::size_t size, std::uint8_t* target) const {
    Loops{}.quantize(x, size, link(0).input, per_scale_, target);
  }
  /// Converts bytes that a final pooling reads to numbers.
  void dequantize(const std::uint8_t* x, std::size_t size, float* target) const {
    Loops{}.dequantize(x, size, kernel_->pooled.zero, pooled_scale_, target);
  }

 private:
  // A fraction of a second-level cache of 512 KiB.
  static constexpr std::size_t ring_bytes = 256 << 10;

  /// Lists the offsets of the groups of four bytes in a patch.
  void list_offsets(std::size_t stage) {
    const window2d& k = link(stage).product.window;
    const std::size_t c = layout_.size(stage).c;
    if (stage == 0) {
      list_image_offsets(k, c, kernels::quantized_weights::run_length(link(0), true),
                         image_.row_size(), offsets_[0].data());
    } else {
      list_panel_offsets(k, c, width, layout_.behind(stage - 1).columns * width,
                         layout_.panel_step(stage - 1), offsets_[stage].data());
    }
  }

  const kernels::quantized_chain* kernel_;
  float per_scale_;
  float pooled_scale_;
  quantized_stages stages_;
  chain_layout layout_;
  padded_image image_;
  std::array<const std::uint8_t*, kernels::max_chain> packed_{};
  std::array<std::optional<quantized_panels<Loops>>, chain_layout::max_stages> panels_;
  std::array<detail::host_tensor<std::uint32_t>, chain_layout::max_stages> offsets_;
};

}  // namespace glia::cpu_loops
