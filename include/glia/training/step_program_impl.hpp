#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/improve.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/training/step_program.hpp"

namespace glia {

namespace detail {

/// Returns the mean of the losses (N) of the samples that are not ignored. If `loss_scale` is
/// not empty, returns the sum of these losses times `loss_scale`.
GLIA_INLINE variable mean_loss(glia::tape& tape, const variable& losses, const tensor& present,
                               const tensor& loss_scale) {
  const glia::device& device = tape.device();
  if (loss_scale) {
    const auto shares =
        !present ? loss_scale
                 : device.run(kernels::binary{binary_function::multiply}, present, loss_scale);
    return present ? ops::sum(losses * tape.constant(shares))
                   : ops::sum(losses) * tape.constant(shares);
  }
  if (!present) {
    return ops::mean(losses);
  }
  const auto count =
      device.run(kernels::binary{binary_function::maximum},
                 device.run(kernels::sum_to{{}}, present), device.run(kernels::full{{}, 1}));
  const auto share = device.run(kernels::binary{binary_function::divide}, present, count);
  return ops::sum(losses * tape.constant(share));
}

/// Tells a recorder to which layer and phase the next kernels belong.
GLIA_INLINE void set_place(const glia::device& device, std::string_view name, step_phase phase) {
  if (graph* const calls = device.recording()) {
    calls->set_place(graph_place{std::string(name), phase});
  }
}

GLIA_INLINE std::vector<tensor> take_gradients(glia::tape& tape, step_inputs inputs,
                                               parameter_list& parameters, const training_job& job,
                                               step_results& results) {
  const glia::device& device = tape.device();
  std::vector<gradient_slot> gradients_at;
  scope s(tape, parameters, gradients_at, inputs.key);
  const variable y = job.net.run(s, tape.constant(std::move(inputs.x)));
  detail::set_place(device, "loss", step_phase::forward);
  const variable losses = job.loss(y, inputs.t);
  detail::set_place(device, "loss", step_phase::backward);
  tape.backward(detail::mean_loss(tape, losses, inputs.present, inputs.loss_scale));
  std::vector<tensor> gradients(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter_group* const group = group_of(job.parameter_groups, parameters[i].spec.name);
    if (gradients_at[i] && (group == nullptr || !group->frozen)) {
      gradients[i] = tape.take_gradient(gradients_at[i]);
    }
  }
  detail::set_place(device, "metrics", step_phase::forward);
  results = {y.value(), losses.value()};
  return gradients;
}

/// Divides the numbers of a step into those of the optimizer and the learning rate for weight
/// decay. The learning rate is empty if no parameter group has a weight decay.
[[nodiscard]] GLIA_INLINE std::pair<tensor, tensor> divide_numbers(const glia::device& device,
                                                                   const training_job& job,
                                                                   const tensor& numbers) {
  const std::size_t count = job.optimizer.numbers_per_step;
  if (job.numbers_per_step() == count) {
    return {numbers, tensor{}};
  }
  return {device.run(kernels::slice{.axis = 0, .begin = 0, .extent = count}, numbers),
          device.run(kernels::reshape{{}},
                     device.run(kernels::slice{.axis = 0, .begin = count, .extent = 1}, numbers))};
}

GLIA_INLINE void update_parameters(const glia::device& device, std::vector<tensor> gradients,
                                   parameter_list& parameters, slot_lists& slots,
                                   const training_job& job, const tensor& numbers) {
  detail::set_place(device, "", step_phase::update);
  transform_gradients(job.gradient_transforms, device, gradients);
  const auto [rule_numbers, learning_rate] = divide_numbers(device, job, numbers);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (gradients[i]) {
      const std::string_view name = parameters[i].spec.name;
      detail::set_place(device, name.substr(0, name.rfind('.')), step_phase::update);
      if (const parameter_group* const group =
              group_of(job.parameter_groups, parameters[i].spec.name)) {
        update_in_group(*group, device, job.optimizer, parameters[i].value, std::move(gradients[i]),
                        slots[i], rule_numbers, learning_rate);
        continue;
      }
      job.optimizer.apply(device, parameters[i].value, std::move(gradients[i]), slots[i],
                          rule_numbers);
    }
  }
  detail::set_place(device, "metrics", step_phase::forward);
}

GLIA_INLINE step_results take_step(glia::tape& tape, step_inputs inputs, parameter_list& parameters,
                                   slot_lists& slots, const training_job& job) {
  const tensor numbers = inputs.numbers;
  step_results results;
  std::vector<tensor> gradients = take_gradients(tape, std::move(inputs), parameters, job, results);
  update_parameters(tape.device(), std::move(gradients), parameters, slots, job, numbers);
  return results;
}

/// Records a batch's targets as an input.
[[nodiscard]] targets targets_input(const recorder& rec, const target_spec& spec);

/// Records the sums over a batch as outputs, and the model's outputs if a metric needs them.
void output_sums(const recorder& rec, const step_results& step, const targets& t,
                 const scoring& scores, const tensor& present = {});

/// Adds an input for the mask of a batch of `rows` rows: 1 for samples that contribute to loss and
/// metrics, 0 for ignored samples and padding.
[[nodiscard]] tensor present_input(const recorder& rec, std::size_t rows);

GLIA_INLINE program record_scores(const glia::device& device, const tensor_spec& outputs,
                                  const target_spec& target, const any_loss& loss,
                                  const scoring& scores) {
  const recorder rec(device.fused());
  glia::tape tape(rec);
  const variable y = tape.constant(rec.samples("outputs", outputs));
  const targets t = targets_input(rec, target);
  const auto present =
      scores.counted.counts_all() ? tensor{} : present_input(rec, outputs.shape[0]);
  output_sums(rec, {y.value(), loss(y, t).value()}, t, scores, present);
  graph g = rec.recorded();
  prune(g);
  return program(std::move(g), device);
}

/// Records the inputs of a step that depend on the batch.
[[nodiscard]] step_inputs batch_inputs(const recorder& rec, const step_shapes& shapes);

/// Records the optimizer's state as inputs.
GLIA_INLINE slot_lists slot_inputs(const recorder& rec, const parameter_list& parameters,
                                   const slot_lists& slots) {
  slot_lists result(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (std::size_t j = 0; j < slots[i].size(); ++j) {
      result[i].push_back(
          rec.input(text(parameters[i].spec.name, ".slot", j), real_of(parameters[i].spec.shape)));
    }
  }
  return result;
}

/// Records the new values of parameters and optimizer state.
void set_next(const recorder& rec, const parameter_list& old_parameters,
              const parameter_list& new_parameters, const slot_lists& old_slots,
              const slot_lists& new_slots);

/// Compiles a recorded step. With a frontier, the step begins after the model's frozen layers.
GLIA_INLINE program finish_step(graph g, const glia::device& device, const step_shapes& shapes,
                                const std::optional<frozen_end>& frontier, step_kind kind) {
  if (frontier) {
    require<value_error>(passes::begin_at(g, 0, frontier->value_in(g)),
                         "trainer: the step uses the samples elsewhere than in the frozen layers, "
                         "so that their outputs cannot be cached; use "
                         "fit_options{.frozen_outputs = {.cache = false}}");
  }
  if (kind == step_kind::fast) {
    std::vector<std::size_t> varying(g.inputs().size());
    std::iota(varying.begin(), varying.end(), std::size_t{0});
    fuse_kernels(g, varying, device.fused());
    if (shapes.depth_first) {
      device.implementation().cut_batch(g, shapes.inputs[0]);
    }
  }
  return program(std::move(g), device);
}

/// Records and compiles a step. On devices that compile whole graphs, sets `mixes` to whether a
/// sample affects the results for other samples.
GLIA_INLINE program record_step(const glia::device& device, const step_shapes& shapes,
                                const parameter_list& parameters, const slot_lists& slots,
                                const training_job& job, const std::optional<scoring>& scores,
                                const std::optional<frozen_end>& frontier, step_kind kind,
                                bool& mixes) {
  const recorder rec(device.fused());
  glia::tape tape(rec);
  step_inputs inputs = batch_inputs(rec, shapes);
  inputs.numbers = rec.input("numbers", real_of({job.numbers_per_step()}));
  if (device.compiles_whole_graphs() || shapes.counted) {
    inputs.present = present_input(rec, shapes.inputs[0]);
  }
  parameter_list traced = as_inputs(rec, parameters);
  slot_lists traced_slots = slot_inputs(rec, parameters, slots);
  const parameter_list old_parameters = traced;
  const slot_lists old_slots = traced_slots;

  const step_results results = take_step(tape, inputs, traced, traced_slots, job);
  if (device.compiles_whole_graphs()) {
    mixes = passes::mixes_samples(rec.recorded());  // before the metrics, which may mix samples
  }
  if (scores) {
    output_sums(rec, results, inputs.t, *scores, inputs.present);
  }
  set_next(rec, old_parameters, traced, old_slots, traced_slots);
  return finish_step(rec.recorded(), device, shapes, frontier, kind);
}

}  // namespace detail

GLIA_INLINE detail::score_program::score_program(const glia::device& device,
                                                 const tensor_spec& outputs,
                                                 const target_spec& targets, const any_loss& loss,
                                                 const scoring& scores)
    : program_(detail::record_scores(device, outputs, targets, loss, scores)) {}

GLIA_INLINE void detail::score_program::run(tensor outputs, targets t, tensor present,
                                            std::span<tensor> sums) const {
  std::vector<tensor*> inputs{&outputs};
  append_targets(t, inputs);
  if (present) {
    inputs.push_back(&present);
  }
  program_.run(inputs, sums);
}

GLIA_INLINE detail::step_program::step_program(
    const glia::device& device, const detail::step_shapes& shapes, const parameter_list& parameters,
    const slot_lists& slots, const training_job& job, const std::optional<scoring>& scores,
    const std::optional<frozen_end>& frontier, detail::step_kind kind)
    : program_(detail::record_step(device, shapes, parameters, slots, job, scores, frontier, kind,
                                   mixes_samples_)) {}

GLIA_INLINE void detail::step_program::run(detail::step_inputs inputs, parameter_list& parameters,
                                           slot_lists& slots, std::vector<tensor*>& argument_buffer,
                                           std::span<tensor> sums, timeline* times,
                                           const probe_function* probe) const {
  argument_buffer.assign({&inputs.x});
  append_targets(inputs.t, argument_buffer);
  argument_buffer.insert(argument_buffer.end(), {&inputs.key, &inputs.numbers});
  if (inputs.present) {
    argument_buffer.push_back(&inputs.present);
  }
  for (parameter& p : parameters) {
    argument_buffer.push_back(&p.value);
  }
  for (std::vector<tensor>& state : slots) {
    for (tensor& slot : state) {
      argument_buffer.push_back(&slot);
    }
  }
  program_.run(argument_buffer, sums, {}, probe, times);
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/recorded_step.hpp"
#endif
