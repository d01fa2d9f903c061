#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::cpu_loops {

/// The bounds of a link's results, packed with its weights.
struct quantized_bounds {
  float low;
  float high;
  std::uint8_t lowest_byte;
};

/// Lists the offsets of the groups of four bytes in a patch. A patch consists of runs of `run`
/// bytes, and its pixels have c channels.
inline void list_image_offsets(const window2d& k, std::size_t c, std::size_t run,
                               std::size_t row_size, std::uint32_t* offset) {
  for (std::size_t y = 0; y < k.height; ++y) {
    for (std::size_t x = 0; x < k.width * c / run; ++x) {
      for (std::size_t i = 0; i < run; i += 4) {
        *offset++ = static_cast<std::uint32_t>(y * k.dilation_height * row_size +
                                               x * k.dilation_width * c + i);
      }
    }
  }
}

/// Lists the same offsets for pixels whose channels are in panels of `width` channels.
inline void list_panel_offsets(const window2d& k, std::size_t channels, std::size_t width,
                               std::size_t row_size, std::size_t panel_step,
                               std::uint32_t* offset) {
  for (std::size_t y = 0; y < k.height; ++y) {
    for (std::size_t x = 0; x < k.width; ++x) {
      for (std::size_t c = 0; c < channels; c += 4) {
        *offset++ = static_cast<std::uint32_t>(y * k.dilation_height * row_size +
                                               x * k.dilation_width * width +
                                               c / width * panel_step + c % width);
      }
    }
  }
}

/// Reads and writes the packed format of `pack_quantized` for one instruction set; see
/// quantized_weights.
template <class Loops>
class quantized_panels {
 public:
  static constexpr std::size_t width = Loops::panel_width;

  quantized_panels(const kernels::quantized_link& link, bool first, bool to_bytes)
      : link_(&link),
        layout_(link, first),
        run_length_(kernels::quantized_weights::run_length(link, first)),
        packs_(to_bytes || link.depthwise()) {}

  [[nodiscard]] std::size_t count() const { return (layout_.outputs + width - 1) / width; }
  [[nodiscard]] std::size_t steps() const { return layout_.steps; }

  /// Returns the operands for the products of one panel.
  [[nodiscard]] integer_products read(const std::uint8_t* packed, std::size_t panel,
                                      const std::uint32_t* offsets) const {
    quantized_bounds bounds{};
    std::memcpy(&bounds, packed, sizeof bounds);
    const std::uint8_t* const panel_data = panel_at(packed, panel);
    const auto* const numbers = reinterpret_cast<const float*>(panel_data);
    return {offsets,
            layout_.steps,
            reinterpret_cast<const std::int8_t*>(panel_data + 2 * width * sizeof(float)),
            outputs(panel),
            numbers,
            numbers + width,
            bounds.low,
            bounds.high,
            bounds.lowest_byte};
  }

  /// Packs weights. The weights of output o are multiples of scales[o]. The result is y = sum *
  /// multiplier + shift.
  template <class T>
  void write(const kernels::pack_quantized& k, const T* w, const T* scales, const T* bias,
             double x_scale, double y_scale, std::uint8_t* packed) const {
    std::memset(packed, 0, layout_.bytes());
    write_bounds(k, y_scale, packed);
    for (std::size_t panel = 0; panel < count(); ++panel) {
      std::uint8_t* const panel_data = panel_at(packed, panel);
      auto* const multipliers = reinterpret_cast<float*>(panel_data);
      auto* const weights = reinterpret_cast<std::int8_t*>(panel_data + 2 * width * sizeof(float));
      for (std::size_t i = 0; i < outputs(panel); ++i) {
        const std::size_t o = panel * width + i;
        const std::size_t lane = lane_of(panel, i);
        double sum = 0;
        for_elements([&](std::size_t element, std::size_t place) {
          const std::int8_t q = whole(w[element * layout_.outputs + o], scales[o]);
          sum += q;
          weights[place / 4 * row_bytes(panel) + 4 * lane + place % 4] = q;
        });
        const double multiplier = x_scale * static_cast<double>(scales[o]) / y_scale;
        const double added = bias == nullptr ? 0 : static_cast<double>(bias[o]) / y_scale;
        multipliers[lane] = static_cast<float>(multiplier);
        multipliers[width + lane] =
            static_cast<float>(added - static_cast<double>(link_->input.zero) * sum * multiplier +
                               (k.to_bytes ? k.out.zero : 0));
      }
    }
  }

 private:
  [[nodiscard]] std::size_t outputs(std::size_t panel) const {
    return std::min(width, layout_.outputs - panel * width);
  }
  template <class Byte>
  [[nodiscard]] Byte* panel_at(Byte* packed, std::size_t panel) const {
    return packed + kernels::quantized_weights::bounds + panel * width * layout_.bytes_each();
  }
  [[nodiscard]] bool narrow(std::size_t panel) const {
    return packs_ && Loops::are_few(outputs(panel));
  }
  /// Returns the bytes of a panel's weights for one group of four elements of x.
  [[nodiscard]] std::size_t row_bytes(std::size_t panel) const {
    constexpr std::size_t outputs_of_vector = width / 4;
    if (packs_) {
      return narrow(panel) ? 4 * Loops::narrow_width : 4 * width;
    }
    return (outputs(panel) + outputs_of_vector - 1) / outputs_of_vector * width;
  }
  /// Returns the position of an output in its vectors of sums.
  [[nodiscard]] std::size_t lane_of(std::size_t panel, std::size_t output) const {
    if (!packs_) {
      return output;
    }
    // A narrow panel of a depthwise link uses four vectors of a narrower type. Every other narrow
    // panel uses two vectors.
    const bool is_narrow = narrow(panel);
    const std::size_t vectors = is_narrow && !link_->depthwise() ? 2 : 4;
    return packed_lane(output, vectors, (is_narrow ? Loops::narrow_width : width) / vectors);
  }

  /// Calls body(row of the weights, its position among the bytes of an output) for each row.
  template <class Body>
  void for_elements(const Body& body) const {
    const shape& w = link_->weights;
    if (link_->depthwise()) {
      for (std::size_t y = 0; y < w[0]; ++y) {
        for (std::size_t x = 0; x < w[1]; ++x) {
          body(y * w[1] + x, 4 * (y / 4 * w[1] + x) + y % 4);
        }
      }
      return;
    }
    const std::size_t filled = (run_length_ + 3) / 4 * 4;
    for (std::size_t i = 0; i < w.size() / w[3]; ++i) {
      body(i, i / run_length_ * filled + i % run_length_);
    }
  }

  template <class T>
  [[nodiscard]] std::int8_t whole(T w, T scale) const {
    const double low = link_->weight_range.minimum;
    const double high = link_->weight_range.maximum;
    const double q = std::nearbyint(static_cast<double>(w / scale));
    return static_cast<std::int8_t>(q > low ? std::min(q, high) : low);  // NaN becomes low
  }

  void write_bounds(const kernels::pack_quantized& k, double y_scale, std::uint8_t* packed) const {
    const clamp_range<double> map(link_->product.map);
    quantized_bounds bounds{static_cast<float>(map.low), static_cast<float>(map.high), 0};
    if (k.to_bytes) {
      const auto bounded = [&](double y) {
        const double q = std::nearbyint(y / y_scale) + k.out.zero;
        return std::clamp(q, static_cast<double>(k.out.minimum),
                          static_cast<double>(k.out.maximum));
      };
      bounds.high = static_cast<float>(bounded(map.high));
      bounds.lowest_byte = static_cast<std::uint8_t>(bounded(map.low));
    }
    std::memcpy(packed, &bounds, sizeof bounds);
  }

  const kernels::quantized_link* link_;
  kernels::quantized_weights layout_;
  std::size_t run_length_;
  bool packs_;  // packs sums into bytes in groups of four
};

}  // namespace glia::cpu_loops
