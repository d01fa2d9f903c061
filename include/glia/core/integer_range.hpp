#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

namespace detail {

/// A range of values in each sample of a model that must be integers, such as class indices for an
/// embedding.
struct integer_range {
  std::size_t first = 0;  ///< index of the first such value in a sample
  std::size_t end = 0;
  std::size_t below = 0;  ///< upper bound: the values are 0 to below - 1
  std::string wanted_by;  ///< prefix of error messages: "sequential[0] embedding(1000, 16): "
};

}  // namespace detail

/// Throws `data_error` if a value in the ranges is not an integer from 0 to below - 1. Each sample
/// has `each` values.
template <class T>
void require_integers(const std::vector<detail::integer_range>& ranges, std::span<const T> samples,
                      std::size_t each) {
  for (const detail::integer_range& range : ranges) {
    for (std::size_t begin = 0; begin + each <= samples.size(); begin += each) {
      for (std::size_t i = range.first; i < range.end; ++i) {
        const T value = samples[begin + i];
        require<data_error>(
            value >= 0 && value < static_cast<T>(range.below) && value == std::floor(value),
            range.wanted_by, "sample ", begin / each, " of the batch has the value ", value,
            " at index ", i, "; expected integers from 0 to ", range.below - 1,
            "; increase the number of rows of the layer or correct the data");
      }
    }
  }
}

}  // namespace glia
