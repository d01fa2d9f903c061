#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "glia/core/random.hpp"
#include "glia/data/batch_loader.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/training/batch_checks.hpp"
#include "glia/training/device_state.hpp"
#include "glia/training/fit_options.hpp"
#include "glia/training/local_step.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/training_job.hpp"
#include "glia/training/training_ranks.hpp"
#include "glia/training/training_state.hpp"
#include "glia/training/training_step.hpp"

namespace glia::detail {

/// Takes the steps of epochs of a data set: shuffles the samples, reads them in batches, and counts
/// each batch in the state of the training.
class epoch_steps {
 public:
  /// All arguments must outlive this object.
  epoch_steps(const training_job& job, device_state& state, training_step& step,
              const fit_options& options, const dataset_view& data, running_scores& scores)
      : job_(job),
        state_(state),
        step_(step),
        options_(options),
        data_(data),
        scores_(scores),
        order_(data.size()),
        loader_(data, options.batch_size, step.runner().share()) {}

  /// Puts the samples in the order of the current epoch: the incomplete epoch, or the next one.
  void shuffle_samples() {
    const training_state& current = state_.counters();
    index_ = static_cast<std::size_t>(current.position > 0 ? current.epoch - 1 : current.epoch);
    std::iota(order_.begin(), order_.end(), 0U);
    if (options_.shuffle) {
      shuffle(std::span(order_), {.seed = current.seed,
                                  .stream = shuffle_stream,
                                  .step = static_cast<std::uint32_t>(index_)});
    }
  }
  /// Begins to read the remaining batches of the epoch.
  void start() {
    const auto position = static_cast<std::size_t>(state_.counters().position);
    loader_.start(std::span<const std::uint32_t>(order_).subspan(position), index_);
  }
  /// Returns the next batch, which is valid until the next call. Null at the end of the epoch.
  [[nodiscard]] const batch* next() { return loader_.next(); }

  /// Takes a step on a batch, and counts the batch.
  void take(const batch& b) {
    step_.run(job_, state_, part_for(data_), b, &scores_,
              std::min(options_.batch_size, data_.size()));
    training_state& current = state_.counters();
    current.epoch = index_ + 1;
    current.position += b.whole_size();
    current.samples = data_.size();
    current.batch_size = options_.batch_size;
    current.shuffled = options_.shuffle;
  }

  /// The mean loss of the epoch so far. May wait for the device.
  [[nodiscard]] double loss() const { return scores_.loss(); }
  /// A copy of the state of the training.
  [[nodiscard]] training_state state() const { return state_.read(job_.net); }
  /// Continues from a saved state of the training.
  void restore(const training_state& saved) {
    state_.restore(job_.net, saved);
    scores_.reset();
    if (saved.position > 0) {
      scores_.go_on_from(saved.sums);
    }
  }

  /// Describes the first kernel of a step on a batch whose result is not finite, on the lowest rank
  /// with such a kernel.
  [[nodiscard]] std::string find_not_finite(const batch& b) const {
    std::string found;
    if (b.size > 0) {
      found = first_not_finite(job_, state_, part_for(data_), b);
    }
    if (step_.ranks() != nullptr) {
      found = step_.ranks()->first_text(found);
    }
    return found.empty() ? "no kernel, when they run one by one" : found;
  }

 private:
  const training_job& job_;
  device_state& state_;
  training_step& step_;
  const fit_options& options_;
  const dataset_view& data_;
  running_scores& scores_;
  std::vector<std::uint32_t> order_;
  std::size_t index_ = 0;  // of the current epoch
  batch_loader loader_;
};

}  // namespace glia::detail
