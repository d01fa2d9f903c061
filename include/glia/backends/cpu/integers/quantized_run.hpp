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
      : kernel_(&k),
        per_scale_(1 / x_scale),
        pooled_scale_(pooled_scale),
        stages_(stages),
        layout_(stages_.sizes(), width, 1, ring_bytes),
        image_(stages_.sizes()[0]) {
    std::copy(packed.begin(), packed.end(), packed_.begin());
    for (std::size_t i = 0; i < stages_.count(); ++i) {
      if (stages_.multiplies(i) || kind(i) == stage_kind::depthwise) {
        panels_[i].emplace(link(i), stages_.link(i) == 0,
                           !layout_.last(i) || kind(i) == stage_kind::pooled_product);
      }
      if (stages_.multiplies(i)) {
        offsets_[i] = detail::host_tensor<std::uint32_t>(memory, {panels_[i]->steps()});
        list_offsets(i);
      }
    }
    band_ = layout_.band();
    if (stages_.count() == 1) {
      const std::size_t row = std::max<std::size_t>(1, image_.row_size());
      band_ = std::clamp<std::size_t>(band_bytes / row, 1, band_);
    }
    const std::size_t first_rows = stages_.count() == 1 ? band_ : layout_.first_rows();
    const std::size_t image = begins_in_panels()
                                  ? layout_.behind(0).columns * width
                                  : image_.band(0, first_rows).input_rows * image_.row_size();
    scratch_size_ = (layout_.end() + image + 2 * slack) / slack * slack;
    scratch_ = detail::host_tensor<float>(memory, {threads * scratch_size_}, element::byte);
  }
  quantized_run(const quantized_run&) = delete;
  quantized_run& operator=(const quantized_run&) = delete;

  [[nodiscard]] std::size_t output_rows() const { return layout_.size(last()).oh; }
  /// Returns the number of panels of a single product, or 1 for a longer chain.
  [[nodiscard]] std::size_t panels() const {
    return stages_.count() == 1 ? panels_[0]->count() : 1;
  }

  /// Computes output rows first ... end - 1 of an image. If the chain is one product, computes them
  /// only for the given panels.
  void rows(const float* x, float* y, std::size_t image, std::size_t first, std::size_t end,
            std::size_t first_panel, std::size_t end_panel, std::size_t thread) const {
    state s{x + image * sample_of(layout_.size(0).input()).size(),
            y + image * sample_of(layout_.size(last()).output()).size(),
            scratch_.bytes() + thread * scratch_size_,
            first_panel,
            end_panel,
            {}};
    if (begins_in_panels()) {
      const auto zero = static_cast<std::uint8_t>(link(0).input.zero);
      layout_.clear(s.scratch, zero);
      std::fill_n(s.scratch + layout_.end(), layout_.behind(0).columns * width, zero);
    } else {
      layout_.clear(s.scratch);
    }
    s.finished[last()] = first;
    for (std::size_t i = last(); i > 0; --i) {
      s.finished[i - 1] = layout_.first_seen(i, s.finished[i]);
    }
    while (s.finished[last()] < end) {
      make(s, last(), std::min(s.finished[last()] + band_, end));
    }
  }

 private:
  using stage_kind = quantized_stages::stage_kind;

  static constexpr std::size_t width = Loops::panel_width;
  static constexpr std::size_t slack = 64;  // a read of a whole vector may pass the end
  // These sizes are fractions of a second-level cache of 512 KiB.
  static constexpr std::size_t ring_bytes = 256 << 10;
  static constexpr std::size_t band_bytes = 128 << 10;
  // Number of pixels for which a panel of weights stays in the first-level cache.
  static constexpr std::size_t pixels_at_a_time = 48;

  struct state {
    const float* x;  // the image
    float* y;
    std::uint8_t* scratch;
    std::size_t first_panel;
    std::size_t end_panel;
    std::array<std::size_t, chain_layout::max_stages> finished;  // rows of each stage
  };

  [[nodiscard]] std::size_t last() const { return stages_.count() - 1; }
  [[nodiscard]] stage_kind kind(std::size_t stage) const { return stages_.kind(stage); }
  [[nodiscard]] bool begins_in_panels() const { return kind(0) == stage_kind::input; }
  [[nodiscard]] const kernels::quantized_link& link(std::size_t stage) const {
    return kernel_->links[stages_.link(stage)];
  }
  [[nodiscard]] integer_products products(std::size_t stage, std::size_t panel) const {
    return panels_[stage]->read(packed_[stages_.link(stage)], panel, offsets_[stage].data());
  }

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

  /// Computes a stage's rows up to `end`. First computes the rows of earlier stages that these rows
  /// need.
  void make(state& s, std::size_t stage, std::size_t end) const {
    const std::size_t first = s.finished[stage];
    if (first >= end) {
      return;
    }
    if (stage > 0) {
      // Rows that no window reads are skipped. They exist if strides are longer than windows.
      s.finished[stage - 1] = std::max(s.finished[stage - 1], layout_.first_seen(stage, first));
      make(s, stage - 1, layout_.end_seen(stage, end));
    }
    if (kind(stage) == stage_kind::input) {
      bring_into_panels(s, first, end);
    } else if (stages_.multiplies(stage)) {
      make_products(s, stage, first, end);
    } else {
      make_channels(s, stage, first, end);
    }
    s.finished[stage] = end;
  }

  void bring_into_panels(const state& s, std::size_t first, std::size_t end) const {
    const kernels::window_sizes& size = layout_.size(0);
    for (std::size_t row = first; row < end; ++row) {
      for (std::size_t panel = 0; panel < layout_.behind(0).panels; ++panel) {
        const std::size_t channels = std::min(width, size.c - panel * width);
        const float* source = s.x + row * size.w * size.c + panel * width;
        std::uint8_t* target = s.scratch + layout_.row(0, panel, row);
        for (std::size_t column = 0; column < size.w; ++column) {
          loops_.quantize(source, channels, link(0).input, per_scale_, target);
          source += size.c;
          target += width;
        }
      }
    }
  }

  /// Runs a stage that processes each channel separately.
  void make_channels(const state& s, std::size_t stage, std::size_t first, std::size_t end) const {
    const kernels::window_sizes& size = layout_.size(stage);
    const window2d& k = size.window;
    const std::uint8_t* const outside =
        s.scratch + (kind(stage - 1) == stage_kind::input ? layout_.end() : layout_.zeros());
    std::array<const std::uint8_t*, kernels::max_window_rows> input_rows;
    for (std::size_t row = first; row < end; ++row) {
      for (std::size_t panel = 0; panel < layout_.behind(stage - 1).panels; ++panel) {
        for (std::size_t tap = 0; tap < k.height; ++tap) {
          const std::size_t input_row = row * k.stride_height + tap * k.dilation_height - k.pad_top;
          input_rows[tap] = input_row < size.h
                                ? s.scratch + layout_.padded_row(stage - 1, panel, input_row)
                                : outside;
        }
        integer_window window{input_rows.data(),
                              k.height,
                              k.width,
                              k.stride_width,
                              k.dilation_width,
                              size.ow,
                              std::min(width, size.o - panel * width),
                              width,
                              width,
                              {}};
        std::uint8_t* const bytes =
            layout_.last(stage) ? nullptr : s.scratch + layout_.row(stage, panel, row);
        float* const numbers =
            layout_.last(stage) ? s.y + row * size.ow * size.o + panel * width : nullptr;
        if (kind(stage) == stage_kind::pool) {
          pool(window, bytes, numbers, size.o);
        } else {
          convolve(stage, panel, window, bytes, numbers, size.o);
        }
      }
    }
  }

  void convolve(std::size_t stage, std::size_t panel, integer_window& window, std::uint8_t* bytes,
                float* numbers, std::size_t outputs) const {
    window.panel = products(stage, panel);
    if (numbers != nullptr) {
      window.out_step = outputs;
      loops_.convolve_channels(window, numbers);
    } else {
      loops_.convolve_channels(window, bytes);
    }
  }

  void pool(integer_window& window, std::uint8_t* bytes, float* numbers,
            std::size_t outputs) const {
    if (numbers == nullptr) {
      return loops_.pool_channels(window, bytes);
    }
    constexpr std::size_t at_a_time = 16;
    std::array<std::uint8_t, at_a_time * width> results;
    std::array<const std::uint8_t*, kernels::max_window_rows> rows;
    std::copy_n(window.rows, window.height, rows.begin());
    window.rows = rows.data();
    for (std::size_t remaining = window.columns; remaining > 0; remaining -= window.columns) {
      window.columns = std::min(at_a_time, remaining);
      loops_.pool_channels(window, results.data());
      for (std::size_t column = 0; column < window.columns; ++column, numbers += outputs) {
        loops_.dequantize(results.data() + column * width, window.channels, kernel_->pooled.zero,
                          pooled_scale_, numbers);
      }
      for (std::size_t row = 0; row < window.height; ++row) {
        rows[row] += window.columns * window.stride * width;
      }
    }
  }

  void make_products(const state& s, std::size_t stage, std::size_t first, std::size_t end) const {
    const kernels::window_sizes& size = layout_.size(stage);
    const std::uint8_t* const image = stage == 0 ? read_image(s, first, end) : nullptr;
    const bool single = stages_.count() == 1;
    const std::size_t first_panel = single ? s.first_panel : 0;
    const std::size_t end_panel = single ? s.end_panel : panels_[stage]->count();
    const std::size_t together = kind(stage) == stage_kind::pooled_product ? 4 : 1;
    const std::size_t at_a_time = pixels_at_a_time / together;
    const std::size_t outputs = (end - first) * size.ow;
    output_group group;
    std::size_t row = first;
    std::size_t column = 0;
    row_of_pixels pixels = pixels_of(s, stage, image, first, row, first_panel);
    for (std::size_t output = 0; output < outputs; output += at_a_time) {
      group.count = std::min(at_a_time, outputs - output);
      for (std::size_t p = 0; p < group.count; ++p) {
        const std::uint8_t* const source = pixels.source + column * pixels.source_step;
        if (together == 1) {
          group.source[p] = source;
        } else {
          group.source[4 * p] = source;
          group.source[4 * p + 1] = source + pixels.product_step;
          group.source[4 * p + 2] = source + pixels.product_row_step;
          group.source[4 * p + 3] = source + pixels.product_row_step + pixels.product_step;
        }
        group.numbers[p] = pixels.numbers + column * pixels.numbers_step;
        group.bytes[p] = pixels.bytes + column * pixels.bytes_step;
        if (++column == size.ow && output + p + 1 < outputs) {
          column = 0;
          pixels = pixels_of(s, stage, image, first, ++row, first_panel);
        }
      }
      for (std::size_t panel = first_panel; panel < end_panel; ++panel) {
        make_panel(stage, panel, group);
      }
    }
  }

  /// A group of outputs of a stage: pointers to their inputs and to their results, which are
  /// numbers or bytes.
  struct output_group {
    std::size_t count = 0;
    std::array<const std::uint8_t*, pixels_at_a_time> source;
    std::array<float*, pixels_at_a_time> numbers;
    std::array<std::uint8_t*, pixels_at_a_time> bytes;
  };

  /// Computes one panel of these outputs. Then it advances the result pointers to the next panel.
  void make_panel(std::size_t stage, std::size_t panel, output_group& group) const {
    const integer_products operands = products(stage, panel);
    const bool last = layout_.last(stage);
    if (kind(stage) == stage_kind::product) {
      last ? loops_.multiply_to_numbers(operands, group.source.data(), group.count,
                                        group.numbers.data())
           : loops_.multiply_to_bytes(operands, group.source.data(), group.count,
                                      group.bytes.data());
    } else if (!last) {
      loops_.multiply_to_largest_bytes(operands, group.source.data(), group.count,
                                       group.bytes.data());
    } else {
      std::array<std::uint8_t, pixels_at_a_time / 4 * width> pooled;
      std::array<std::uint8_t*, pixels_at_a_time / 4> target;
      for (std::size_t p = 0; p < group.count; ++p) {
        target[p] = pooled.data() + p * width;
      }
      loops_.multiply_to_largest_bytes(operands, group.source.data(), group.count, target.data());
      for (std::size_t p = 0; p < group.count; ++p) {
        loops_.dequantize(target[p], operands.outputs, kernel_->pooled.zero, pooled_scale_,
                          group.numbers[p]);
      }
    }
    for (std::size_t p = 0; last && p < group.count; ++p) {
      group.numbers[p] += width;
    }
    for (std::size_t p = 0; !last && p < group.count; ++p) {
      group.bytes[p] += layout_.panel_step(stage);
    }
  }

  /// Pointers to the first window of a row of outputs and to its results, which are numbers or
  /// bytes.
  struct row_of_pixels {
    const std::uint8_t* source;
    std::size_t source_step;
    // In a pooling window: the distances to the inputs of the next product and of the next row of
    // products.
    std::size_t product_step;
    std::size_t product_row_step;
    float* numbers;
    std::size_t numbers_step;
    std::uint8_t* bytes;
    std::size_t bytes_step;
  };
  /// Returns the pointers for a row. `image` is the input of the first stage, from its output row
  /// `first` on.
  [[nodiscard]] row_of_pixels pixels_of(const state& s, std::size_t stage,
                                        const std::uint8_t* image, std::size_t first,
                                        std::size_t row, std::size_t first_panel) const {
    const kernels::window_sizes& size = layout_.size(stage);
    const window2d& k = size.window;
    const window2d& product = link(stage).product.window;
    row_of_pixels pixels{nullptr, 0, 0, 0, s.y, 0, s.scratch, 0};
    if (stage == 0) {
      const patch_grid grid = image_.grid({});
      pixels.source = image + (row - first) * grid.row_step;
      pixels.source_step = grid.column_step;
      pixels.product_step = product.stride_width * size.c;
      pixels.product_row_step = product.stride_height * image_.row_size();
    } else {
      pixels.source =
          s.scratch + layout_.padded_row(stage - 1, 0, row * k.stride_height - k.pad_top);
      pixels.source_step = k.stride_width * width;
      pixels.product_step = product.stride_width * width;
      pixels.product_row_step = product.stride_height * layout_.behind(stage - 1).columns * width;
    }
    if (layout_.last(stage)) {
      pixels.numbers += row * size.ow * size.o + first_panel * width;
      pixels.numbers_step = size.o;
    } else {
      pixels.bytes += layout_.row(stage, 0, row);
      pixels.bytes_step = width;
    }
    return pixels;
  }

  /// Returns the padded image rows, as bytes, that the given output rows of the first stage read.
  [[nodiscard]] const std::uint8_t* read_image(const state& s, std::size_t first,
                                               std::size_t end) const {
    const kernels::window_sizes& size = layout_.size(0);
    const window2d& k = size.window;
    const kernels::byte_range& range = link(0).input;
    const auto zero = static_cast<std::uint8_t>(range.zero);
    const row_band band = image_.band(first, end - first);
    const std::size_t left_padding = k.pad_left * size.c;
    const std::size_t inside = size.w * size.c;
    std::uint8_t* target = s.scratch + layout_.end();
    for (std::size_t row = 0; row < band.input_rows; ++row, target += image_.row_size()) {
      const std::size_t input_row =
          first * k.stride_height + row - k.pad_top;  // wraps around above
      if (input_row >= size.h) {
        std::fill_n(target, image_.row_size(), zero);
        continue;
      }
      std::fill_n(target, left_padding, zero);
      loops_.quantize(s.x + input_row * inside, inside, range, per_scale_, target + left_padding);
      std::fill_n(target + left_padding + inside, k.pad_right * size.c, zero);
    }
    return s.scratch + layout_.end();
  }

  Loops loops_{};
  const kernels::quantized_chain* kernel_;
  float per_scale_;
  float pooled_scale_;
  quantized_stages stages_;
  chain_layout layout_;
  padded_image image_;
  std::size_t band_ = 1;
  std::array<const std::uint8_t*, kernels::max_chain> packed_{};
  std::array<std::optional<quantized_panels<Loops>>, chain_layout::max_stages> panels_;
  std::array<detail::host_tensor<std::uint32_t>, chain_layout::max_stages> offsets_;
  std::size_t scratch_size_ = 0;  // bytes for each thread
  detail::host_tensor<float> scratch_;
};

}  // namespace glia::cpu_loops
