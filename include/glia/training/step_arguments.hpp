#pragma once

// Arguments of a recorded training step that do not depend on the samples of its batch.

#include <cstddef>
#include <cstdint>
#include <span>

#include "glia/training/training_job.hpp"
#include "glia/training/training_state.hpp"

namespace glia::detail {

/// The key of the random numbers of a step. `first` is the index of the first sample in the batch.
[[nodiscard]] inline tensor key_tensor(const device& destination, const training_state& counters,
                                       std::size_t first) {
  const auto words = step_key{.seed = counters.seed,
                              .step = static_cast<std::uint32_t>(counters.step),
                              .first_sample = static_cast<std::uint32_t>(first)}
                         .to_words();
  return destination.from_host(std::span<const std::int32_t>(words), {words.size()});
}

/// The optimizer's numbers for a step, such as the learning rate.
[[nodiscard]] inline tensor optimizer_numbers(const training_job& job,
                                              const training_state& counters) {
  const auto numbers = job.optimizer.numbers(counters.step, counters.learning_rate_scale);
  const std::size_t count = job.optimizer.numbers_per_step;
  return job.net.device().from_host(std::span<const double>(numbers.data(), count), {count});
}

}  // namespace glia::detail
