#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/layers/stream_recording.hpp"

namespace glia::detail {

/// Returns a table (T, columns) for the `steps` steps of a sequence, or for the steps of a block in
/// a stream. The element in a column for step t is number(t, column).
template <class Number>
[[nodiscard]] tensor step_table(const scope& s, std::size_t steps, std::size_t columns,
                                const Number& number) {
  stream_recording* const stream = s.stream();
  const std::size_t rows = stream == nullptr ? steps : stream->max_steps();
  std::vector<double> numbers(rows * columns);
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t column = 0; column < columns; ++column) {
      numbers[t * columns + column] = number(t, column);
    }
  }
  const tensor table = s.device().from_host(std::span<const double>(numbers.data(), numbers.size()),
                                            {rows, columns});
  return stream == nullptr ? table : stream->rows_of(table);
}

/// Returns the angle t / max_wavelength^(2 pair / features) of a pair of features at step t.
[[nodiscard]] inline double step_angle(std::size_t t, std::size_t pair, std::size_t features,
                                       double max_wavelength) {
  const double share = static_cast<double>(2 * pair) / static_cast<double>(features);
  return static_cast<double>(t) / std::pow(max_wavelength, share);
}

}  // namespace glia::detail
