#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "glia/core/error.hpp"

namespace glia {

/// The means of red, green and blue of ImageNet's images, for values in [0, 1]. Networks trained on
/// ImageNet expect inputs that are normalized with these means and with `imagenet_std`.
inline constexpr std::array<float, 3> imagenet_mean{0.485F, 0.456F, 0.406F};
/// The standard deviations of red, green and blue of ImageNet's images, for values in [0, 1].
inline constexpr std::array<float, 3> imagenet_std{0.229F, 0.224F, 0.225F};

namespace detail {

/// Normalizes pixels to (pixel / 255 - mean) / std, with a table for the 256 values of each color.
class normalization {
 public:
  /// Throws `value_error`, with a message that begins with `caller`, if a mean is not finite, or if
  /// a standard deviation is not finite or not above 0.
  normalization(std::string_view caller, const std::array<float, 3>& mean,
                const std::array<float, 3>& std) {
    for (std::size_t c = 0; c < 3; ++c) {
      require<value_error>(std::isfinite(mean[c]) && std[c] > 0 && std::isfinite(std[c]), caller,
                           ": expected finite means and finite standard deviations above 0, got "
                           "the mean ",
                           mean[c], " and the std ", std[c], " for color ", c);
      for (std::size_t value = 0; value < 256; ++value) {
        table_[c][value] = (static_cast<float>(value) / 255.0F - mean[c]) / std[c];
      }
    }
  }

  /// Normalizes pixels (..., 3) into `values` of the same size.
  void apply(std::span<const std::uint8_t> pixels, std::span<float> values) const {
    for (std::size_t offset = 0; offset < values.size(); offset += 3) {
      for (std::size_t c = 0; c < 3; ++c) {
        values[offset + c] = table_[c][pixels[offset + c]];
      }
    }
  }

 private:
  std::array<std::array<float, 256>, 3> table_{};
};

}  // namespace detail

}  // namespace glia
