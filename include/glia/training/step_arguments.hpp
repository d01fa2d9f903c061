#pragma once

// What the recorded steps of one process and of several processes have in common: their shapes, the
// padding of a batch, and the arguments that do not depend on its samples.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "glia/training/batch_tensors.hpp"
#include "glia/training/step_program.hpp"
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

/// The optimizer's numbers for a step, such as the learning rate. If a parameter group has a weight
/// decay, the last number is the learning rate, or 0 in a step that does not update the parameters.
[[nodiscard]] inline tensor optimizer_numbers(const training_job& job,
                                              const training_state& counters) {
  const auto step = static_cast<std::size_t>(counters.step);
  const auto rule_numbers = job.optimizer.numbers(step, counters.learning_rate_scale);
  std::array<double, std::tuple_size_v<any_optimizer::step_numbers> + 1> numbers{};
  std::copy(rule_numbers.begin(), rule_numbers.end(), numbers.begin());
  const std::size_t count = job.numbers_per_step();
  if (count > job.optimizer.numbers_per_step && job.optimizer.updates(step)) {
    numbers[job.optimizer.numbers_per_step] =
        counters.learning_rate_scale * job.optimizer.learning_rate(step);
  }
  return job.net.device().from_host(std::span<const double>(numbers.data(), count), {count});
}

/// The shapes of a step on a batch. `counted` decides which samples are ignored.
[[nodiscard]] inline step_shapes shapes_for(const model_core& net, const batch& b,
                                            const counted_targets& counted) {
  return {batch_of(b.size, net.sample_shape()), target_spec_of(b), net.depth_first(),
          !counted.counts_all()};
}

/// Pads a batch to `rows` rows if the device compiles whole graphs, so that it needs no other graph
/// for a smaller batch. Returns nothing if the batch is large enough, or if padding would change
/// the results. `program_for(batch)` returns the recorded step for a batch.
template <class ProgramFor>
[[nodiscard]] std::optional<batch> padded_for(const device& target, const batch& b,
                                              std::size_t rows, const ProgramFor& program_for) {
  if (!target.compiles_whole_graphs() || rows <= b.size) {
    return std::nullopt;
  }
  std::optional<batch> result = padded(b, rows);
  if (program_for(*result).mixes_samples()) {
    result.reset();
  }
  return result;
}

}  // namespace glia::detail
