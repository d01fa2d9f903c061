#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/chain_layout.hpp"
#include "glia/backends/cpu/integers/quantized_input.hpp"
#include "glia/backends/cpu/integers/quantized_plan.hpp"
#include "glia/backends/cpu/integers/quantized_stages.hpp"
#include "glia/backends/cpu/loops/integer_operands.hpp"
#include "glia/backends/cpu/loops/patch_grid.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// A stage that multiplies patches by weights, with or without a pooling of the products.
template <class Loops>
class quantized_products {
 public:
  quantized_products(const quantized_plan<Loops>& plan, std::size_t stage)
      : plan_(&plan), stage_(stage) {}

  /// Computes the rows first ... end - 1. If the chain is one product, computes them only for the
  /// panels of the task.
  void make(const quantized_task& task, std::size_t first, std::size_t end) const {
    const kernels::window_sizes& size = plan_->layout().size(stage_);
    const std::uint8_t* const image =
        stage_ == 0 ? quantize_rows(*plan_, task, first, end) : nullptr;
    const bool single = plan_->count() == 1;
    const std::size_t first_panel = single ? task.first_panel : 0;
    const std::size_t end_panel = single ? task.end_panel : plan_->panels(stage_);
    const std::size_t pixels_of_output = plan_->kind(stage_) == stage_kind::pooled_product ? 4 : 1;
    const std::size_t max_outputs = max_pixels / pixels_of_output;
    const std::size_t outputs = (end - first) * size.ow;
    output_group group;
    std::size_t row = first;
    std::size_t column = 0;
    row_of_pixels pixels = pixels_of(task, image, first, row, first_panel);
    for (std::size_t output = 0; output < outputs; output += max_outputs) {
      group.count = std::min(max_outputs, outputs - output);
      for (std::size_t p = 0; p < group.count; ++p) {
        const std::uint8_t* const source = pixels.source + column * pixels.source_step;
        if (pixels_of_output == 1) {
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
          pixels = pixels_of(task, image, first, ++row, first_panel);
        }
      }
      for (std::size_t panel = first_panel; panel < end_panel; ++panel) {
        make_panel(panel, group);
      }
    }
  }

 private:
  using stage_kind = quantized_stages::stage_kind;

  static constexpr std::size_t width = Loops::panel_width;
  // Number of pixels for which a panel of weights stays in the first-level cache.
  static constexpr std::size_t max_pixels = 48;

  /// A group of outputs of a stage: pointers to their inputs and to their results, which are
  /// numbers or bytes.
  struct output_group {
    std::size_t count = 0;
    std::array<const std::uint8_t*, max_pixels> source;
    std::array<float*, max_pixels> numbers;
    std::array<std::uint8_t*, max_pixels> bytes;
  };

  /// Computes one panel of these outputs. Then it advances the result pointers to the next panel.
  void make_panel(std::size_t panel, output_group& group) const {
    const integer_products operands = plan_->products(stage_, panel);
    const bool last = plan_->layout().last(stage_);
    if (plan_->kind(stage_) == stage_kind::product) {
      last ? loops_.multiply_to_numbers(operands, group.source.data(), group.count,
                                        group.numbers.data())
           : loops_.multiply_to_bytes(operands, group.source.data(), group.count,
                                      group.bytes.data());
    } else if (!last) {
      loops_.multiply_to_largest_bytes(operands, group.source.data(), group.count,
                                       group.bytes.data());
    } else {
      std::array<std::uint8_t, max_pixels / 4 * width> pooled;
      std::array<std::uint8_t*, max_pixels / 4> target;
      for (std::size_t p = 0; p < group.count; ++p) {
        target[p] = pooled.data() + p * width;
      }
      loops_.multiply_to_largest_bytes(operands, group.source.data(), group.count, target.data());
      for (std::size_t p = 0; p < group.count; ++p) {
        plan_->dequantize(target[p], operands.outputs, group.numbers[p]);
      }
    }
    for (std::size_t p = 0; last && p < group.count; ++p) {
      group.numbers[p] += width;
    }
    for (std::size_t p = 0; !last && p < group.count; ++p) {
      group.bytes[p] += plan_->layout().panel_step(stage_);
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
  [[nodiscard]] row_of_pixels pixels_of(const quantized_task& task, const std::uint8_t* image,
                                        std::size_t first, std::size_t row,
                                        std::size_t first_panel) const {
    const chain_layout& layout = plan_->layout();
    const kernels::window_sizes& size = layout.size(stage_);
    const window2d& k = size.window;
    const window2d& product = plan_->link(stage_).product.window;
    row_of_pixels pixels{nullptr, 0, 0, 0, task.y, 0, task.scratch, 0};
    if (stage_ == 0) {
      const patch_grid grid = plan_->image().grid({});
      pixels.source = image + (row - first) * grid.row_step;
      pixels.source_step = grid.column_step;
      pixels.product_step = product.stride_width * size.c;
      pixels.product_row_step = product.stride_height * plan_->image().row_size();
    } else {
      pixels.source =
          task.scratch + layout.padded_row(stage_ - 1, 0, row * k.stride_height - k.pad_top);
      pixels.source_step = k.stride_width * width;
      pixels.product_step = product.stride_width * width;
      pixels.product_row_step = product.stride_height * layout.behind(stage_ - 1).columns * width;
    }
    if (layout.last(stage_)) {
      pixels.numbers += row * size.ow * size.o + first_panel * width;
      pixels.numbers_step = size.o;
    } else {
      pixels.bytes += layout.row(stage_, 0, row);
      pixels.bytes_step = width;
    }
    return pixels;
  }

  Loops loops_{};
  const quantized_plan<Loops>* plan_;
  std::size_t stage_;
};

}  // namespace glia::cpu_loops
