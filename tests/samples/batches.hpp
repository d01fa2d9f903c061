#pragma once

#include <cstddef>
#include <cstdint>
#include <glia/data/batch_loader.hpp>
#include <glia/data/dataset_view.hpp>
#include <numeric>
#include <vector>

#include "catch.hpp"

namespace test {

/// The inputs of all samples of a data set as one batch.
template <class D>
std::vector<float> whole_batch(const D& data, std::size_t epoch = 0) {
  std::vector<std::uint32_t> samples(data.size());
  std::iota(samples.begin(), samples.end(), 0U);
  glia::batch b;
  glia::dataset_view(data).gather(samples, b, epoch);
  return b.inputs;
}

/// The classes of samples as a loader gives them in pairs, beside that of a copy of the data, whose
/// batches are to be the same.
template <class D>
std::vector<std::int32_t> loaded_classes(const D& data, const std::vector<std::uint32_t>& order) {
  const D copy = data;
  glia::batch_loader loader(data, 2);
  glia::batch_loader other(copy, 2);
  loader.start(order);
  other.start(order);
  std::vector<std::int32_t> classes;
  while (const glia::batch* b = loader.next()) {
    CHECK(b->input_shape == glia::batch_of(b->size, data.input_shape()));
    CHECK(b->inputs == other.next()->inputs);
    classes.insert(classes.end(), b->labels.begin(), b->labels.end());
  }
  return classes;
}

}  // namespace test
