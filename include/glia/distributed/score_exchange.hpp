#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "glia/data/dataset.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia {

/// Collects the outputs for a batch from all ranks, and adds them to the metrics that need outputs,
/// in the order of the samples.
inline void add_outputs_of_all(rank_group& ranks, const batch& own,
                               const std::vector<float>& outputs, running_scores& sums) {
  batch whole;
  whole.size = own.whole_size();
  whole.labels = gather_all(ranks, own.labels);
  whole.targets = gather_all(ranks, own.targets);
  const std::vector<float> all = gather_all(ranks, outputs);
  sums.add_outputs(std::span<const float>(all), whole);
}

/// Adds the scores of the batches of all ranks to `scores`; see training_ranks::add_scores.
inline void add_scores_of_all(rank_group& ranks, const batch_scores& own, running_scores& scores) {
  const auto sizes = gather_each(ranks, own.sizes);
  const auto counts = gather_each(ranks, own.counts);
  const auto sums = gather_each(ranks, own.sums);
  const bool scored = scores.how().needs_outputs();
  const auto gather_samples = [&]<class T>(const std::vector<T>& values) {
    return scored ? gather_each(ranks, values) : std::vector<std::vector<T>>();
  };
  const auto outputs = gather_samples(own.outputs);
  const auto classes = gather_samples(own.classes);
  const auto targets = gather_samples(own.targets);
  std::vector<std::size_t> done(sizes.size());  // samples of each rank
  const std::size_t count = scores.how().sums();
  for (std::size_t turn = 0; turn < sizes[0].size(); ++turn) {
    for (std::size_t rank = 0; rank < sizes.size() && turn < sizes[rank].size(); ++rank) {
      const std::size_t size = sizes[rank][turn];
      scores.add_read(counts[rank][turn], std::span(sums[rank]).subspan(turn * count, count));
      if (scored) {
        const std::size_t samples =
            std::accumulate(sizes[rank].begin(), sizes[rank].end(), std::size_t{0});
        const auto of_batch = [&](const auto& values) {
          const std::size_t row = values[rank].size() / samples;
          return std::span(values[rank]).subspan(done[rank] * row, size * row);
        };
        batch b;
        b.size = size;
        b.labels.assign(of_batch(classes).begin(), of_batch(classes).end());
        b.targets.assign(of_batch(targets).begin(), of_batch(targets).end());
        scores.add_outputs(of_batch(outputs), b);
      }
      done[rank] += size;
    }
  }
}

}  // namespace glia
