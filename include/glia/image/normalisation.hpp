#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "glia/core/error.hpp"

namespace glia {

/// Mean and standard deviation of ImageNet's red, green and blue in [0, 1], which networks trained
/// on it expect their inputs to be normalised with.
inline constexpr std::array<float, 3> imagenet_mean{0.485F, 0.456F, 0.406F};
/// The standard deviation of ImageNet's photos by channel, for values in [0, 1].
inline constexpr std::array<float, 3> imagenet_std{0.229F, 0.224F, 0.225F};

namespace detail {

/// (v / 255 - mean) / std of each colour's 256 values.
class normalisation {
 public:
  /// Throws `value_error`, beginning with `what`, for a mean that is not finite and for a standard
  /// deviation that is not or is not above 0.
  normalisation(std::string_view what, const std::array<float, 3>& mean,
                const std::array<float, 3>& std) {
    for (std::size_t c = 0; c < 3; ++c) {
      require<value_error>(std::isfinite(mean[c]) && std[c] > 0 && std::isfinite(std[c]), what,
                           ": expected finite means and standard deviations above 0, got mean ",
                           mean[c], " and std ", std[c], " for colour ", c);
      for (std::size_t value = 0; value < 256; ++value) {
        table_[c][value] = (static_cast<float>(value) / 255.0F - mean[c]) / std[c];
      }
    }
  }

  /// Pixels (..., 3) as values, of which there are as many.
  void apply(std::span<const std::uint8_t> pixels, std::span<float> values) const {
    for (std::size_t at = 0; at < values.size(); at += 3) {
      for (std::size_t c = 0; c < 3; ++c) {
        values[at + c] = table_[c][pixels[at + c]];
      }
    }
  }

 private:
  std::array<std::array<float, 256>, 3> table_{};
};

}  // namespace detail

}  // namespace glia
