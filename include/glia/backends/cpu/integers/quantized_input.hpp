#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "glia/backends/cpu/convolution/padded_image.hpp"
#include "glia/backends/cpu/integers/quantized_plan.hpp"
#include "glia/kernels/window.hpp"

// Images as bytes.
namespace glia::cpu_loops {

/// Copies the rows first ... end - 1 of the image, as bytes, into the panels behind the first
/// stage.
template <class Loops>
void quantize_into_panels(const quantized_plan<Loops>& plan, const quantized_task& task,
                          std::size_t first, std::size_t end) {
  constexpr std::size_t width = Loops::panel_width;
  const kernels::window_sizes& size = plan.layout().size(0);
  for (std::size_t row = first; row < end; ++row) {
    for (std::size_t panel = 0; panel < plan.layout().behind(0).panels; ++panel) {
      const std::size_t channels = std::min(width, size.c - panel * width);
      const float* source = task.x + row * size.w * size.c + panel * width;
      std::uint8_t* target = task.scratch + plan.layout().row(0, panel, row);
      for (std::size_t column = 0; column < size.w; ++column) {
        plan.quantize(source, channels, target);
        source += size.c;
        target += width;
      }
    }
  }
}

/// Returns the padded image rows, as bytes, that the given output rows of the first stage read.
template <class Loops>
[[nodiscard]] const std::uint8_t* quantize_rows(const quantized_plan<Loops>& plan,
                                                const quantized_task& task, std::size_t first,
                                                std::size_t end) {
  const kernels::window_sizes& size = plan.layout().size(0);
  const window2d& k = size.window;
  const padded_image& image = plan.image();
  const auto zero = static_cast<std::uint8_t>(plan.link(0).input.zero);
  const row_band band = image.band(first, end - first);
  const std::size_t left_padding = k.pad_left * size.c;
  const std::size_t inside = size.w * size.c;
  std::uint8_t* target = task.scratch + plan.layout().end();
  for (std::size_t row = 0; row < band.input_rows; ++row, target += image.row_size()) {
    const std::size_t input_row = first * k.stride_height + row - k.pad_top;  // wraps around above
    if (input_row >= size.h) {
      std::fill_n(target, image.row_size(), zero);
      continue;
    }
    std::fill_n(target, left_padding, zero);
    plan.quantize(task.x + input_row * inside, inside, target + left_padding);
    std::fill_n(target + left_padding + inside, k.pad_right * size.c, zero);
  }
  return task.scratch + plan.layout().end();
}

}  // namespace glia::cpu_loops
