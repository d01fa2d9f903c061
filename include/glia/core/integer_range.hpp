#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

namespace detail {

/// A range of values in each sample of a model that must be integers, such as class indices for an
/// embedding.
struct integer_range {
  std::size_t first = 0;  ///< index of the first such value in a sample
  std::size_t end = 0;
  std::size_t limit = 0;  ///< upper bound: the values are 0 to limit - 1
  std::string prefix;     ///< beginning of error messages: "sequential[0] embedding(1000, 16): "
  std::string_view advice{};  ///< end of error messages: "increase input_dim, or correct the data"
  bool allows_missing = false;  ///< whether NaN is allowed, as a missing value
};

}  // namespace detail

/// Throws `data_error` if a value in the ranges is neither an integer from 0 to limit - 1 nor an
/// allowed NaN. Each sample has `sample_size` values, at least 1. A range can end beyond them.
template <class T>
void require_integers(const std::vector<detail::integer_range>& ranges, std::span<const T> samples,
                      std::size_t sample_size) {
  for (const detail::integer_range& range : ranges) {
    for (std::size_t begin = 0; begin + sample_size <= samples.size(); begin += sample_size) {
      for (std::size_t i = range.first; i < std::min(range.end, sample_size); ++i) {
        const T value = samples[begin + i];
        require<data_error>(
            (value >= 0 && value < static_cast<T>(range.limit) && value == std::floor(value)) ||
                (range.allows_missing && std::isnan(value)),
            range.prefix, "sample ", begin / sample_size, " of the batch has the value ", value,
            " at index ", i, "; expected integers from 0 to ", range.limit - 1,
            range.allows_missing ? ", or NaN for a missing value; " : "; ", range.advice);
      }
    }
  }
}

}  // namespace glia
