#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "glia/data/dataset.hpp"
#include "glia/training/batch_tensors.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/training_ranks.hpp"

namespace glia::detail {

/// Sums the scores of batches that the ranks take in turn.
class shared_scores {
 public:
  /// `ranks` can be null; then all batches belong to this process.
  shared_scores(training_ranks* ranks, const glia::device& device, running_scores& scores)
      : ranks_(ranks), device_(&device), scores_(&scores) {}

  /// Adds the results of a batch; see scoring::results.
  void add(std::span<const tensor> results, const batch& b) {
    if (ranks_ == nullptr) {
      scores_->add_results(results, b);
      return;
    }
    batches_.sizes.push_back(b.size);
    batches_.counts.push_back(count_of(scores_->spec().counted, b));
    batches_.weight_sums.push_back(weight_of(scores_->spec().counted, b));
    for (const tensor& sum : results.first(scores_->spec().sums())) {
      device_->to_host(sum, std::span(&batches_.sums.emplace_back(), 1));
    }
    if (scores_->spec().needs_outputs()) {
      const tensor& y = results.back();
      std::vector<float> outputs(y.shape().size());
      device_->to_host(y, std::span(outputs));
      const auto end = static_cast<std::ptrdiff_t>(outputs.size() / y.shape()[0] * b.size);
      batches_.outputs.insert(batches_.outputs.end(), outputs.begin(), outputs.begin() + end);
      batches_.classes.insert(batches_.classes.end(), b.labels.begin(), b.labels.end());
      batches_.targets.insert(batches_.targets.end(), b.targets.begin(), b.targets.end());
      batches_.sample_weights.insert(batches_.sample_weights.end(), b.weights.begin(),
                                     b.weights.end());
    }
  }

  /// Exchanges the scores after all ranks have added all their batches.
  void finish() {
    if (ranks_ != nullptr) {
      ranks_->add_scores(batches_, *scores_);
    }
  }

 private:
  training_ranks* ranks_;
  const glia::device* device_;
  running_scores* scores_;
  batch_scores batches_;
};

}  // namespace glia::detail
