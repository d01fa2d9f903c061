#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "glia/data/dataset.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/training/running_scores.hpp"

namespace glia::detail {

/// Collects the outputs for a batch from all ranks, and adds them to the metrics that need outputs,
/// in the order of the samples.
inline void add_outputs_of_all(rank_group& ranks, const batch& slice,
                               const std::vector<float>& outputs, running_scores& sums) {
  batch whole;
  whole.size = slice.whole_size();
  whole.labels = gather_all(ranks, slice.labels);
  whole.targets = gather_all(ranks, slice.targets);
  whole.weights = gather_all(ranks, slice.weights);
  const std::vector<float> gathered = gather_all(ranks, outputs);
  sums.add_outputs(std::span<const float>(gathered), whole);
}

}  // namespace glia::detail
