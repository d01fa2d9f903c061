#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "glia/io/protobuf_message.hpp"

namespace glia::detail {

/// A histogram as in TensorFlow's message HistogramProto. Bucket i counts the values v with
/// limits[i - 1] < v <= limits[i]. Bucket 0 counts the values v <= limits[0].
struct value_histogram {
  double min = 0;
  double max = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits = {};   ///< Upper limits in ascending order; the last is the maximum.
  std::vector<double> buckets = {};  ///< Number of values in each bucket.
};

/// Returns the histogram of the finite values, with `buckets` (at least 1) buckets of equal width.
/// If all values are equal, there is one bucket. Without finite values, there are no buckets.
template <class Values>
[[nodiscard]] value_histogram histogram_of(const Values& values, std::size_t buckets) {
  value_histogram h{.min = std::numeric_limits<double>::infinity(),
                    .max = -std::numeric_limits<double>::infinity()};
  for (const auto number : values) {
    const auto value = static_cast<double>(number);
    if (std::isfinite(value)) {
      h.min = std::min(h.min, value);
      h.max = std::max(h.max, value);
      h.sum += value;
      h.sum_of_squares += value * value;
      ++h.count;
    }
  }
  if (h.count == 0) {
    return {};
  }
  h.buckets.resize(h.min < h.max ? buckets : 1);
  for (std::size_t i = 1; i < h.buckets.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(h.buckets.size());
    // A sum of two products, because max - min may overflow. Rounding may make a limit smaller than
    // the one before.
    const double limit = std::min(h.min * (1 - share) + h.max * share, h.max);
    h.limits.push_back(h.limits.empty() ? limit : std::max(limit, h.limits.back()));
  }
  h.limits.push_back(h.max);
  for (const auto number : values) {
    const auto value = static_cast<double>(number);
    if (std::isfinite(value)) {
      const auto limit = std::lower_bound(h.limits.begin(), h.limits.end(), value);
      ++h.buckets[static_cast<std::size_t>(limit - h.limits.begin())];
    }
  }
  return h;
}

/// The scalars and histograms of one step for TensorBoard, each with a tag, which is its name
/// there. Corresponds to TensorFlow's message Summary (tensorflow/core/framework/summary.proto).
class event_summary {
 public:
  /// Adds a scalar.
  void add(std::string_view tag, double scalar) {
    // Converting a double outside the range of float would be undefined.
    constexpr double largest_float = std::numeric_limits<float>::max();
    const double held = std::abs(scalar) > largest_float ? std::copysign(INFINITY, scalar) : scalar;
    detail::protobuf_message value;
    value.add_bytes(1, tag);
    value.add_float(2, static_cast<float>(held));
    summary_.add_bytes(1, value.bytes());
  }
  /// Adds a histogram.
  void add(std::string_view tag, const value_histogram& h) {
    detail::protobuf_message histogram;
    histogram.add_double(1, h.min);
    histogram.add_double(2, h.max);
    histogram.add_double(3, h.count);
    histogram.add_double(4, h.sum);
    histogram.add_double(5, h.sum_of_squares);
    histogram.add_doubles(6, h.limits);
    histogram.add_doubles(7, h.buckets);
    detail::protobuf_message value;
    value.add_bytes(1, tag);
    value.add_bytes(5, histogram.bytes());
    summary_.add_bytes(1, value.bytes());
  }
  /// The serialized message.
  [[nodiscard]] const std::string& bytes() const { return summary_.bytes(); }

 private:
  detail::protobuf_message summary_;
};

}  // namespace glia::detail
