#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "glia/core/error.hpp"

namespace glia {

/// The scale and zero point of 8-bit integers: a number is (byte - zero) * scale.
struct byte_scale {
  float scale = 1;        ///< Difference between two neighboring numbers.
  std::int32_t zero = 0;  ///< Byte that stands for 0.
};

namespace detail {

/// A histogram of the numbers of a tensor in a model. A first pass over the numbers finds their
/// range, a second pass counts them.
class number_histogram {
 public:
  /// Adds numbers. Throws `data_error` if one is infinite or NaN.
  void add(std::span<const float> numbers) {
    for (const float x : numbers) {
      require<data_error>(std::isfinite(x), "calibrate: expected finite inputs of a product, got ",
                          x);
      if (counting_) {
        counts_[bin_of(x)] += x != 0 ? 1 : 0;  // 0 has no error
      } else {
        low_ = std::min(low_, x);
        high_ = std::max(high_, x);
      }
    }
  }
  /// Ends the first pass.
  void end_pass() { counting_ = true; }

  /// The scale and zero point with the smallest mean squared error. Tries the range of the numbers,
  /// and narrower ranges that contain 0. Numbers outside of a range are clipped to its ends.
  [[nodiscard]] byte_scale best_bytes() const {
    byte_scale best = bytes_over(low_, high_);
    double minimum = error_of(best);
    float low = low_;
    float high = high_;
    for (float* const end : {&high, &low}) {  // first one end, then the other
      const float whole = *end;
      float chosen = whole;
      for (int percent = 98; percent >= 10; percent -= 2) {
        *end = whole * static_cast<float>(percent) / 100;
        const byte_scale candidate = bytes_over(low, high);
        const double error = error_of(candidate);
        if (error < minimum) {
          minimum = error;
          best = candidate;
          chosen = *end;
        }
      }
      *end = chosen;
    }
    return best;
  }

 private:
  static constexpr std::size_t bins = 2048;

  [[nodiscard]] double bin_width() const {
    return (static_cast<double>(high_) - static_cast<double>(low_)) / bins;
  }
  [[nodiscard]] std::size_t bin_of(float x) const {
    const double width = bin_width();
    const double position = (static_cast<double>(x) - static_cast<double>(low_)) / width;
    return width > 0 ? std::min(bins - 1, static_cast<std::size_t>(position)) : 0;
  }

  [[nodiscard]] static byte_scale bytes_over(float low, float high) {
    const double width = static_cast<double>(high) - static_cast<double>(low);
    const auto scale = static_cast<float>(width / 255);
    if (!std::isnormal(scale)) {
      return {};
    }
    const double zero = std::nearbyint(-static_cast<double>(low) / static_cast<double>(scale));
    return {scale, static_cast<std::int32_t>(std::clamp(zero, 0.0, 255.0))};
  }

  [[nodiscard]] double error_of(const byte_scale& r) const {
    const auto scale = static_cast<double>(r.scale);
    double sum = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (counts_[bin] == 0) {
        continue;
      }
      const double x = static_cast<double>(low_) + (static_cast<double>(bin) + 0.5) * bin_width();
      const double byte = std::clamp(std::nearbyint(x / scale) + r.zero, 0.0, 255.0);
      // The numbers of a bin are spread over the whole interval of their byte.
      const double inside = scale * scale / 12;
      const double distance = std::abs(x - (byte - r.zero) * scale);
      const double square = distance <= scale ? inside : distance * distance;
      sum += static_cast<double>(counts_[bin]) * square;
    }
    return sum;
  }

  float low_ = 0;
  float high_ = 0;
  bool counting_ = false;
  std::array<std::uint64_t, bins> counts_{};
};

}  // namespace detail

}  // namespace glia
