#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/chain_layout.hpp"
#include "glia/backends/cpu/integers/quantized_plan.hpp"
#include "glia/backends/cpu/integers/quantized_stages.hpp"
#include "glia/backends/cpu/loops/integer_operands.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

/// A stage that processes each channel separately: a depthwise convolution or a pooling.
template <class Loops>
class quantized_channels {
 public:
  quantized_channels(const quantized_plan<Loops>& plan, std::size_t stage)
      : plan_(&plan), stage_(stage) {}

  /// Computes the rows first ... end - 1.
  void make(const quantized_task& task, std::size_t first, std::size_t end) const {
    const chain_layout& layout = plan_->layout();
    const kernels::window_sizes& size = layout.size(stage_);
    const window2d& k = size.window;
    const std::uint8_t* const outside =
        task.scratch +
        (plan_->kind(stage_ - 1) == stage_kind::input ? layout.end() : layout.zeros());
    std::array<const std::uint8_t*, kernels::max_window_rows> row_pointers;
    for (std::size_t row = first; row < end; ++row) {
      for (std::size_t panel = 0; panel < layout.behind(stage_ - 1).panels; ++panel) {
        for (std::size_t tap = 0; tap < k.height; ++tap) {
          const std::size_t input_row = row * k.stride_height + tap * k.dilation_height - k.pad_top;
          row_pointers[tap] = input_row < size.h
                                  ? task.scratch + layout.padded_row(stage_ - 1, panel, input_row)
                                  : outside;
        }
        integer_window window{row_pointers.data(),
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
            layout.last(stage_) ? nullptr : task.scratch + layout.row(stage_, panel, row);
        float* const numbers =
            layout.last(stage_) ? task.y + row * size.ow * size.o + panel * width : nullptr;
        if (plan_->kind(stage_) == stage_kind::pool) {
          pool(window, bytes, numbers, size.o);
        } else {
          window.panel = plan_->products(stage_, panel);
          convolve(window, bytes, numbers, size.o);
        }
      }
    }
  }

 private:
  using stage_kind = quantized_stages::stage_kind;

  static constexpr std::size_t width = Loops::panel_width;

  void convolve(integer_window& window, std::uint8_t* bytes, float* numbers,
                std::size_t outputs) const {
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
    constexpr std::size_t max_columns = 16;
    std::array<std::uint8_t, max_columns * width> results;
    std::array<const std::uint8_t*, kernels::max_window_rows> rows;
    std::copy_n(window.rows, window.height, rows.begin());
    window.rows = rows.data();
    for (std::size_t remaining = window.columns; remaining > 0; remaining -= window.columns) {
      window.columns = std::min(max_columns, remaining);
      loops_.pool_channels(window, results.data());
      for (std::size_t column = 0; column < window.columns; ++column, numbers += outputs) {
        plan_->dequantize(results.data() + column * width, window.channels, numbers);
      }
      for (std::size_t row = 0; row < window.height; ++row) {
        rows[row] += window.columns * window.stride * width;
      }
    }
  }

  Loops loops_{};
  const quantized_plan<Loops>* plan_;
  std::size_t stage_;
};

}  // namespace glia::cpu_loops
