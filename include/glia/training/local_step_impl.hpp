#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/training/batch_checks.hpp"
#include "glia/training/batch_tensors.hpp"
#include "glia/training/local_step.hpp"
#include "glia/training/not_finite.hpp"
#include "glia/training/step_arguments.hpp"

namespace glia {

namespace detail {

[[nodiscard]] GLIA_INLINE step_shapes shapes_for(const training_job& job, const batch& b) {
  return shapes_for(job.net, b, counted_by(job.loss, b, job.net.output_shape()));
}

/// The inputs of a step on a batch. The first `samples` rows are samples; the other rows are
/// padding.
[[nodiscard]] GLIA_INLINE step_inputs inputs_for(const training_job& job,
                                                 const training_state& counters, const batch& b,
                                                 std::size_t samples) {
  const glia::device& device = job.net.device();
  const counted_targets counted = counted_by(job.loss, b, job.net.output_shape());
  return {device.samples_from_host(std::span<const float>(b.inputs), b.input_shape),
          targets_of(device, b, job.net.output_shape()), key_tensor(device, counters, b.first),
          optimizer_numbers(job, counters),
          counted.counts_all() ? tensor{} : present_rows(device, counted, b, samples)};
}

[[nodiscard]] GLIA_INLINE step_program record_step(const training_job& job, const slot_lists& slots,
                                                   model_part part, const step_shapes& shapes,
                                                   const std::optional<scoring>& scores,
                                                   step_kind kind) {
  return {job.net.device(),
          shapes,
          job.net.parameters(),
          slots,
          job,
          scores,
          part == model_part::trained ? job.net.frontier() : std::nullopt,
          kind};
}

}  // namespace detail

GLIA_INLINE void detail::local_step::run(const arguments& step) {
  model_core& net = step.job.net;
  const batch& b = step.inputs;
  const std::optional<batch> padded_inputs = detail::padded_for(
      net.device(), b,
      step.rows, [&](const batch& larger) -> const auto& { return program_for(step, larger); });
  const batch& input = padded_inputs ? *padded_inputs : b;
  const detail::step_program& program = program_for(step, input);
  std::optional<timeline::span> copying(std::in_place, step.times, "inputs to the device");
  detail::step_inputs inputs = detail::inputs_for(step.job, step.state.counters(), input, b.size);
  if (net.device().compiles_whole_graphs() && !inputs.present) {
    inputs.present = mask_for(net.device(), b.size, input.size);
  }
  copying.reset();
  sums_.resize(step.scores == nullptr ? 0 : step.scores->spec().results());
  program.run(std::move(inputs), net.parameters(), step.state.slots(), argument_buffer_, sums_,
              step.times);
}

GLIA_INLINE void detail::local_step::add_memory(training_memory& memory) const {
  for (const recorded_program& recorded : programs_) {
    memory.graph = std::max(memory.graph, recorded.program->scratch_bytes());
    memory.batch_tiles = std::max(memory.batch_tiles, recorded.program->lane_bytes());
  }
}

GLIA_INLINE const detail::step_program& detail::local_step::program_for(const arguments& step,
                                                                        const batch& b) {
  const detail::step_shapes shapes = detail::shapes_for(step.job, b);
  const auto fits = [&](const recorded_program& recorded) {
    return recorded.shapes == shapes && recorded.part == step.part &&
           recorded.scores.has_value() == (step.scores != nullptr) &&
           (step.scores == nullptr || *recorded.scores == step.scores->spec());
  };
  if (step.job.net.identity() != model_) {
    programs_.clear();
    model_ = step.job.net.identity();
  }
  const auto found = std::find_if(programs_.begin(), programs_.end(), fits);
  if (found != programs_.end()) {
    return *found->program;
  }
  if (programs_.size() == max_programs) {
    programs_.erase(programs_.begin());
  }
  const auto scores = step.scores == nullptr ? std::nullopt : std::optional(step.scores->spec());
  programs_.push_back(
      {shapes, step.part, scores,
       std::make_unique<const detail::step_program>(detail::record_step(
           step.job, step.state.slots(), step.part, shapes, scores, detail::step_kind::fast))});
  return *programs_.back().program;
}

GLIA_INLINE const tensor& detail::local_step::mask_for(const device& destination,
                                                       std::size_t samples, std::size_t rows) {
  if (mask_.samples != samples || mask_.rows != rows) {
    std::vector<float> present(rows);
    std::fill_n(present.begin(), samples, 1.0F);
    mask_ = {samples, rows, destination.samples_from_host(std::span<const float>(present), {rows})};
  }
  return mask_.present;
}

namespace detail {

GLIA_INLINE std::string first_not_finite(const training_job& job, const device_state& state,
                                         model_part part, const batch& b) {
  if (!all_finite(b.inputs) || !all_finite(b.targets)) {
    return all_finite(b.inputs) ? "the targets of the batch" : "the inputs of the batch";
  }
  for (const named_tensor& t : state.tensors(job.net)) {
    if (!all_finite(t)) {
      return t.name + ", before the step";
    }
  }
  std::string found;
  const glia::device& device = job.net.device();
  step_inputs inputs = detail::inputs_for(job, state.counters(), b, b.size);
  if (device.compiles_whole_graphs()) {
    const counted_targets counted = counted_by(job.loss, b, job.net.output_shape());
    inputs.present = present_rows(device, counted, b, b.size);
  }
  const step_program plain = detail::record_step(
      job, state.slots(), part, detail::shapes_for(job, b), std::nullopt, step_kind::plain);
  // Tensors are copied on write, so that the step does not change the model.
  parameter_list parameters = job.net.parameters();
  slot_lists slots = state.slots();
  std::vector<tensor*> argument_buffer;
  const auto check = [&](const graph_node& node, std::span<const tensor* const> results) {
    for (const tensor* result : results) {
      if (found.empty() && *result && !all_finite(device, *result)) {
        found = detail::text_of(plain.calls().place_of(node), node.kernel.name());
      }
    }
  };
  const probe_function probe(check);
  plain.run(std::move(inputs), parameters, slots, argument_buffer, {}, nullptr, &probe);
  return found;
}

}  // namespace detail

}  // namespace glia
