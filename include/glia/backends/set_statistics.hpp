#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "glia/backends/long_sum.hpp"
#include "glia/kernels/normalization.hpp"

namespace glia {

/// Returns whether `widened`, a variance plus epsilon, is far enough from the limits of T's range.
/// If so, the squares of normalized numbers and of their standard deviation are exact to T's
/// precision.
template <class T>
[[nodiscard]] bool is_usual_variance(T widened) {
  constexpr T lowest = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  return widened > lowest && widened < 1 / lowest;
}

namespace detail {

/// Returns the rounding error of a mean; `offset` is the mean distance of the numbers from it.
/// Returns 0 if `offset` is more than a rounding error, because the mean was then computed over
/// several ranks.
template <class T>
[[nodiscard]] T rest_of_mean(T mean, T offset) {
  return std::abs(offset) <= std::numeric_limits<T>::epsilon() * std::abs(mean) ? offset : T{0};
}

}  // namespace detail

/// The mean and variance of a set of numbers of any size. The numbers are multiplied by a power of
/// two before they are squared, so that their squares stay in T's range. If some numbers are not
/// finite, the mean and the normalized values are the results of the plain formula.
template <class T>
class set_statistics {
 public:
  /// x(i) for i < n are the numbers, n > 0. If `centered` is false, 0 is used instead of the mean.
  template <class At>
  set_statistics(std::size_t n, const At& x, double epsilon, bool centered) {
    T largest = 0;
    detail::compensated_sum<T> sum;
    for (std::size_t i = 0; i < n; ++i) {
      const T size = std::abs(x(i));
      largest = largest < size || std::isnan(size) ? size : largest;
      sum.add(x(i));
    }
    const auto count = static_cast<T>(n);
    if (!std::isfinite(largest)) {
      mean_ = centered ? sum.value() / count : T{0};
      variance_ = centered ? std::numeric_limits<T>::quiet_NaN() : largest;
      inverse_ = 1 / std::sqrt(variance_);
      return;
    }
    // With this bound, the factor and its reciprocal stay in the range of normal numbers.
    constexpr int max_power = std::numeric_limits<T>::max_exponent - 8;
    // If the numbers are far below the root of epsilon, a factor that fits them would move epsilon
    // out of the range.
    const T size = std::max(largest, static_cast<T>(std::sqrt(epsilon)));
    const int power = size > 0 ? std::clamp(std::ilogb(size), -max_power, max_power) : 0;
    factor_ = std::ldexp(T{1}, -power);
    if (centered) {
      const T first = factor_ * x(0);
      detail::compensated_sum<T> apart;
      for (std::size_t i = 0; i < n; ++i) {
        apart.add(factor_ * x(i) - first);
      }
      mean_ = first + apart.value() / count;
      detail::compensated_sum<T> offset_sum;
      for (std::size_t i = 0; i < n; ++i) {
        offset_sum.add(factor_ * x(i) - mean_);
      }
      const T correction = offset_sum.value() / count;
      const T rounded = mean_ + correction;
      rest_ = correction - (rounded - mean_);
      mean_ = rounded;
    }
    detail::compensated_sum<T> squares;
    for (std::size_t i = 0; i < n; ++i) {
      const T distance = apart_from_mean(x(i));
      squares.add(distance * distance);
    }
    variance_ = squares.value() / count;
    const T widened = variance_ + factor_ * (factor_ * static_cast<T>(epsilon));
    inverse_ = 1 / std::sqrt(std::max(widened, std::numeric_limits<T>::min()));
  }

  [[nodiscard]] T mean() const { return mean_ / factor_; }
  /// Returns the variance; infinity if it is too large for T.
  [[nodiscard]] T variance() const { return variance_ / factor_ / factor_; }
  /// Returns 1 / sqrt(variance + epsilon).
  [[nodiscard]] T inverse_deviation() const { return factor_ * inverse_; }
  /// Returns (x - mean) / sqrt(variance + epsilon).
  [[nodiscard]] T normalized(T x) const { return apart_from_mean(x) * inverse_; }

 private:
  [[nodiscard]] T apart_from_mean(T x) const { return (factor_ * x - mean_) - rest_; }

  // power of two by which x is multiplied; mean_, rest_ and variance_ are in these units
  T factor_ = 1;
  T mean_ = 0;
  T rest_ = 0;  // rounding error of the mean
  T variance_ = 0;
  T inverse_ = 0;
};

/// The division of x into sets of elements that share their statistics. Each of `samples` samples
/// has `per_sample` sets. A set consists of `rows` runs of `run` neighboring elements.
struct normalized_sets {
  explicit normalized_sets(const shape& x, normalization kind, std::size_t groups)
      : columns(x.back()) {
    const std::size_t total_rows = row_count(x);
    if (kernels::is_by_rows(kind)) {
      samples = total_rows;
      run = columns;
    } else if (kind == normalization::group) {
      samples = x[0];
      rows = total_rows / samples;
      run = columns / groups;
      per_sample = groups;
    } else {
      rows = total_rows;
      per_sample = columns;
    }
  }

  [[nodiscard]] std::size_t count() const { return samples * per_sample; }
  /// Returns the number of elements of a set.
  [[nodiscard]] std::size_t length() const { return rows * run; }
  /// Returns the index of element i of a set.
  [[nodiscard]] std::size_t element(std::size_t set, std::size_t i) const {
    const std::size_t row = set / per_sample * rows + i / run;
    return row * columns + set % per_sample * run + i % run;
  }
  /// Returns the index into gamma and beta for element i of a set.
  [[nodiscard]] std::size_t column(std::size_t set, std::size_t i) const {
    return set % per_sample * run + i % run;
  }

  std::size_t columns;
  std::size_t samples = 1;
  std::size_t per_sample = 1;
  std::size_t rows = 1;
  std::size_t run = 1;
};

}  // namespace glia
