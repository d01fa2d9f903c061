#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// Values of a model's samples that are to be whole numbers.
struct integer_range {
  std::size_t first = 0;  ///< of the values of a sample
  std::size_t end = 0;
  std::size_t below = 0;  ///< they are 0 to this less 1
  std::string wanted_by;  ///< sequential[0] embedding(1000, 16):
};

/// Throws `data_error` for a value of samples, each of so many values, that is to be an integer of
/// a range and is not.
template <class T>
void require_integers(const std::vector<integer_range>& ranges, std::span<const T> samples,
                      std::size_t each) {
  for (const integer_range& range : ranges) {
    for (std::size_t begin = 0; begin + each <= samples.size(); begin += each) {
      for (std::size_t i = range.first; i < range.end; ++i) {
        const T value = samples[begin + i];
        require<data_error>(
            value >= 0 && value < static_cast<T>(range.below) && value == std::floor(value),
            range.wanted_by, "sample ", begin / each, " of the batch holds ", value, " at place ",
            i, ", expected whole numbers from 0 to ", range.below - 1,
            "; give the layer more rows or mend the data");
      }
    }
  }
}

}  // namespace glia
