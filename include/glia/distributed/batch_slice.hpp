#pragma once

#include <cstddef>

#include "glia/data/dataset.hpp"

namespace glia {

/// Copies the samples [first, first + count) of a batch.
[[nodiscard]] inline batch samples_of(const batch& b, std::size_t first, std::size_t count) {
  batch result;
  const auto copy = [&](const auto& source, auto& destination) {
    const std::size_t sample_size = source.size() / b.size;
    const auto begin = source.begin() + static_cast<std::ptrdiff_t>(first * sample_size);
    destination.assign(begin, begin + static_cast<std::ptrdiff_t>(count * sample_size));
  };
  copy(b.inputs, result.inputs);
  copy(b.labels, result.labels);
  copy(b.targets, result.targets);
  copy(b.weights, result.weights);
  result.size = count;
  result.input_shape = batch_of(count, sample_of(b.input_shape));
  if (b.target_shape.rank() > 0) {
    result.target_shape = batch_of(count, sample_of(b.target_shape));
  }
  result.first = b.first + first;
  result.whole = b.whole_size();
  return result;
}

}  // namespace glia
