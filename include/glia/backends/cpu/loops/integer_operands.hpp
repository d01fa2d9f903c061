#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "glia/kernels/quantization.hpp"

// The operands of the integer loops, and all that integer_loops.inl needs from other headers.

namespace glia::cpu_loops {

/// The weights of one panel of outputs for products with patches of bytes, and the conversion of
/// sums to results: sum * multiplier + shift for each output, clamped to bounds.
struct integer_products {
  const std::uint32_t* offsets = nullptr;  ///< Offsets from a patch to each group of four bytes.
  std::size_t steps = 0;                   ///< Number of groups of four bytes.
  const std::int8_t* weights = nullptr;    ///< Weights of all outputs, for each group of four.
  std::size_t outputs = 0;                 ///< Number of outputs in this panel.
  const float* multipliers = nullptr;      ///< One per output, in the order of the weights.
  const float* shifts = nullptr;
  float low = 0;                 ///< Lower bound of results of type float.
  float high = 0;                ///< Upper bound of all results.
  std::uint8_t lowest_byte = 0;  ///< Lower bound of results that are bytes.
};

/// One row of outputs of a depthwise convolution for one panel of channels.
struct integer_window {
  const std::uint8_t* const* rows;  ///< Input rows of the window.
  std::size_t height;
  std::size_t width;
  std::size_t stride;
  std::size_t dilation;
  std::size_t columns;     ///< Number of outputs.
  std::size_t channels;    ///< Number of channels in the panel.
  std::size_t pixel_step;  ///< Distance between pixels, in bytes.
  std::size_t out_step;    ///< Distance between outputs.
  integer_products panel;  ///< Four bytes per channel, for each group of four rows and each column.
};

/// Returns a number as a byte. The result is the same for every instruction set.
[[nodiscard]] inline std::uint8_t quantized(float x, const kernels::byte_range& range,
                                            float per_scale) {
  const float low = static_cast<float>(range.minimum) - static_cast<float>(range.zero);
  const float high = static_cast<float>(range.maximum) - static_cast<float>(range.zero);
  const float scaled = x * per_scale;
  const float bounded = scaled > low ? std::min(scaled, high) : low;  // NaN is low
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(bounded)) + range.zero);
}

/// Returns the position of a channel's sum in `vectors` vectors of `lanes` sums that are packed
/// into bytes. Packing takes four sums of each vector in turn.
[[nodiscard]] constexpr std::size_t packed_lane(std::size_t channel, std::size_t vectors,
                                                std::size_t lanes) {
  const std::size_t four = channel / 4;
  return four % vectors * lanes + four / vectors * 4 + channel % 4;
}

}  // namespace glia::cpu_loops
