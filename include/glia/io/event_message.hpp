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

namespace glia {

/// How values are distributed, as TensorFlow's HistogramProto has it: bucket i counts what is above
/// limit i - 1 and up to limit i, the first one what is up to limit 0.
struct value_histogram {
  double min = 0;
  double max = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits = {};   ///< rising; the last one is the largest value
  std::vector<double> buckets = {};  ///< as many
};

/// The histogram of those of the values that are finite, in buckets of one width, or in a single
/// one where all values are the same; none without a finite value. `buckets` is at least 1.
template <class Values>
[[nodiscard]] value_histogram histogram_of(const Values& values, std::size_t buckets) {
  value_histogram h{.min = std::numeric_limits<double>::infinity(),
                    .max = -std::numeric_limits<double>::infinity()};
  for (const auto one : values) {
    const auto value = static_cast<double>(one);
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
    // Of two products: the difference of two doubles may be none. Rounded, they may go back.
    const double limit = std::min(h.min * (1 - share) + h.max * share, h.max);
    h.limits.push_back(h.limits.empty() ? limit : std::max(limit, h.limits.back()));
  }
  h.limits.push_back(h.max);
  for (const auto one : values) {
    const auto value = static_cast<double>(one);
    if (std::isfinite(value)) {
      const auto limit = std::lower_bound(h.limits.begin(), h.limits.end(), value);
      ++h.buckets[static_cast<std::size_t>(limit - h.limits.begin())];
    }
  }
  return h;
}

/// What TensorBoard shows of one step: scalars and histograms under their tags. As TensorFlow's
/// message Summary (tensorflow/core/framework/summary.proto).
class event_summary {
 public:
  void add(std::string_view tag, double scalar) {
    // A double that no float holds would be undefined.
    constexpr double most = std::numeric_limits<float>::max();
    const double held = std::abs(scalar) > most ? std::copysign(INFINITY, scalar) : scalar;
    detail::protobuf_message value;
    value.add_bytes(1, tag);
    value.add_float(2, static_cast<float>(held));
    summary_.add_bytes(1, value.bytes());
  }
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
  [[nodiscard]] const std::string& bytes() const { return summary_.bytes(); }

 private:
  detail::protobuf_message summary_;
};

}  // namespace glia
