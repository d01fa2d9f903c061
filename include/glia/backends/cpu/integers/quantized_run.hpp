#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "glia/backends/cpu/convolution/chain_layout.hpp"
#include "glia/backends/cpu/integers/quantized_channels.hpp"
#include "glia/backends/cpu/integers/quantized_input.hpp"
#include "glia/backends/cpu/integers/quantized_plan.hpp"
#include "glia/backends/cpu/integers/quantized_products.hpp"
#include "glia/backends/cpu/integers/quantized_stages.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::cpu_loops {

/// The data that the threads of one call share, for a chain of quantized convolutions. As in
/// `chain_run`, a few rows at a time go through all stages. Results between stages are bytes.
template <class Loops>
class quantized_run {
 public:
  /// `pooled_scale` is the scale of the bytes that a final pooling reads, if there is a final
  /// pooling.
  quantized_run(const kernels::quantized_chain& k, const quantized_stages& stages, float x_scale,
                float pooled_scale, std::span<const std::uint8_t* const> packed,
                const memory_pool& memory, std::size_t threads)
      : plan_(k, stages, x_scale, pooled_scale, packed, memory), band_(layout().band()) {
    const std::size_t row_size = plan_.image().row_size();
    if (plan_.count() == 1) {
      band_ = std::clamp<std::size_t>(band_bytes / std::max<std::size_t>(1, row_size), 1, band_);
    }
    const std::size_t first_rows = plan_.count() == 1 ? band_ : layout().first_rows();
    const std::size_t image = plan_.begins_in_panels()
                                  ? layout().behind(0).columns * width
                                  : plan_.image().band(0, first_rows).input_rows * row_size;
    scratch_size_ = (layout().end() + image + 2 * slack) / slack * slack;
    scratch_ = detail::host_tensor<float>(memory, {threads * scratch_size_}, element::byte);
  }

  [[nodiscard]] std::size_t output_rows() const { return layout().size(last()).oh; }
  /// Returns the number of panels of a single product, or 1 for a longer chain.
  [[nodiscard]] std::size_t panels() const { return plan_.count() == 1 ? plan_.panels(0) : 1; }

  /// Computes output rows first ... end - 1 of an image. If the chain is one product, computes them
  /// only for the given panels.
  void rows(const float* x, float* y, std::size_t image, std::size_t first, std::size_t end,
            std::size_t first_panel, std::size_t end_panel, std::size_t thread) const {
    state s{{x + image * sample_of(layout().size(0).input()).size(),
             y + image * sample_of(layout().size(last()).output()).size(),
             scratch_.bytes() + thread * scratch_size_, first_panel, end_panel},
            {}};
    std::uint8_t* const scratch = s.task.scratch;
    if (plan_.begins_in_panels()) {
      const auto zero = static_cast<std::uint8_t>(plan_.link(0).input.zero);
      layout().clear(scratch, zero);
      std::fill_n(scratch + layout().end(), layout().behind(0).columns * width, zero);
    } else {
      layout().clear(scratch);
    }
    s.finished[last()] = first;
    for (std::size_t i = last(); i > 0; --i) {
      s.finished[i - 1] = layout().first_seen(i, s.finished[i]);
    }
    while (s.finished[last()] < end) {
      make(s, last(), std::min(s.finished[last()] + band_, end));
    }
  }

 private:
  static constexpr std::size_t width = Loops::panel_width;
  static constexpr std::size_t slack = 64;  // a read of a whole vector may pass the end
  // A fraction of a second-level cache of 512 KiB.
  static constexpr std::size_t band_bytes = 128 << 10;

  struct state {
    quantized_task task;
    std::array<std::size_t, chain_layout::max_stages> finished;  // rows of each stage
  };

  [[nodiscard]] const chain_layout& layout() const { return plan_.layout(); }
  [[nodiscard]] std::size_t last() const { return plan_.count() - 1; }

  /// Computes a stage's rows up to `end`. First computes the rows of earlier stages that these rows
  /// need.
  void make(state& s, std::size_t stage, std::size_t end) const {
    const std::size_t first = s.finished[stage];
    if (first >= end) {
      return;
    }
    if (stage > 0) {
      // Rows that no window reads are skipped. They exist if strides are longer than windows.
      s.finished[stage - 1] = std::max(s.finished[stage - 1], layout().first_seen(stage, first));
      make(s, stage - 1, layout().end_seen(stage, end));
    }
    if (plan_.kind(stage) == quantized_stages::stage_kind::input) {
      quantize_into_panels(plan_, s.task, first, end);
    } else if (plan_.multiplies(stage)) {
      quantized_products<Loops>(plan_, stage).make(s.task, first, end);
    } else {
      quantized_channels<Loops>(plan_, stage).make(s.task, first, end);
    }
    s.finished[stage] = end;
  }

  quantized_plan<Loops> plan_;
  std::size_t band_;
  std::size_t scratch_size_ = 0;  // bytes for each thread
  detail::host_tensor<float> scratch_;
};

}  // namespace glia::cpu_loops
