#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>

#include "glia/core/error.hpp"

namespace glia {

/// What a sample should have come to: a class, or values of the outputs' shape.
struct sample_target {
  std::int32_t label = -1;             ///< -1 where there are values
  std::span<const float> values = {};  ///< none where there is a class

  /// As a value for output `i` of `outputs`: classes are 1 at theirs and 0 elsewhere, those of a
  /// single output 0 or 1.
  [[nodiscard]] double value(std::size_t i, std::size_t outputs) const {
    if (!values.empty()) {
      return values[i];
    }
    return outputs == 1 ? label : label == static_cast<std::int32_t>(i) ? 1 : 0;
  }
};

/// Something that is measured of a model's outputs beside the loss. One of a user's own is a value:
/// it adds up numbers over the samples, in double and on the host, and makes one of them.
///
///     glia::metric{.name = "bias", .add = [](auto y, const auto& t, auto sums) {
///                    sums[0] += y[0] - t.values[0];
///                  }}
///
/// Metrics are told apart by their names.
struct metric {
  std::string name;

  /// Counts the samples whose class is among the k with the highest scores; 0: see `add`.
  std::size_t k = 0;

  std::size_t sums = 1;  ///< how many numbers `add` adds to, from 0 on
  std::function<void(std::span<const float> outputs, const sample_target& target,
                     std::span<double> sums)>
      add = {};
  /// The metric, of the sums over so many samples; without it their first divided by the samples.
  std::function<double(std::span<const double> sums, double samples)> finish = {};

  bool smaller_is_better = false;  ///< as for errors, unlike for shares of what is right

  [[nodiscard]] bool counts_classes() const { return !add; }
  friend bool operator==(const metric& a, const metric& b) {
    return a.name == b.name && a.k == b.k && a.sums == b.sums &&
           a.counts_classes() == b.counts_classes();
  }
};

/// The share of samples whose class has the highest score; for a model with one output, of those
/// that lie on their class's side of the border: 0 for a logit, 1/2 where the model ends in a
/// sigmoid or the loss is that of a regression, which brings outputs close to 0 and 1.
[[nodiscard]] inline metric accuracy() { return {.name = "accuracy", .k = 1}; }
/// The share of samples whose class is among the k highest scores.
[[nodiscard]] inline metric top_k(std::size_t k) {
  require<value_error>(k > 0, "top_k: expected k of at least 1");
  return {.name = text("top_", k), .k = k};
}

/// The mean of |y - t| over samples and outputs.
[[nodiscard]] inline metric mae() {
  return {.name = "mae",
          .add =
              [](auto y, const sample_target& t, auto sums) {
                double sum = 0;
                for (std::size_t i = 0; i < y.size(); ++i) {
                  sum += std::abs(y[i] - t.value(i, y.size()));
                }
                sums[0] += sum / static_cast<double>(y.size());
              },
          .smaller_is_better = true};
}

/// The coefficient of determination, 1 - sum (y - t)^2 / sum (t - mean of t)^2 over samples and
/// outputs: 1 for outputs that are the targets, 0 for their mean, NaN where targets are all alike.
[[nodiscard]] inline metric r_squared() {
  enum { errors, count, mean, spread };
  return {.name = "r_squared",
          .sums = 4,
          .add =
              [](auto y, const sample_target& t, auto sums) {
                for (std::size_t i = 0; i < y.size(); ++i) {
                  const double value = t.value(i, y.size());
                  sums[errors] += (y[i] - value) * (y[i] - value);
                  // Welford, Technometrics 1962: digits are not lost to a mean that is large.
                  const double off = value - sums[mean];
                  sums[mean] += off / ++sums[count];
                  sums[spread] += off * (value - sums[mean]);
                }
              },
          .finish =
              [](auto sums, double) {
                return sums[spread] > 0 ? 1 - sums[errors] / sums[spread]
                                        : std::numeric_limits<double>::quiet_NaN();
              }};
}

}  // namespace glia
