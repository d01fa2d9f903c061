#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/busy_time.hpp"
#include "glia/core/inline.hpp"
#include "glia/training/agreement.hpp"
#include "glia/training/feed.hpp"
#include "glia/training/fit_run.hpp"
#include "glia/training/not_finite.hpp"
#include "glia/training/shared_step.hpp"
#include "glia/training/trainer_core.hpp"

namespace glia {

GLIA_INLINE trainer_core::trainer_core(const subject& what, trainer_options options)
    : options_(std::move(options)) {
  require_logits(what.net.plan(), what.loss);
  at_.seed = options_.seed;
  at_.optimizer = what.optimizer.state_name();
  if (options_.distribution.is_shared()) {
    shared_ = std::make_shared<shared_step>(options_.distribution);
  }
  for (const parameter& p : what.net.parameters()) {
    std::vector<tensor>& own = memory_.emplace_back();
    for (std::size_t i = 0; p.spec.trainable && i < what.optimizer.state_count; ++i) {
      own.push_back(
          what.net.device().run(kernels::full{p.spec.shape, what.optimizer.initial_state}));
    }
  }
}

GLIA_INLINE void trainer_core::require_same_model(const model_core& net) const {
  const parameter_list& parameters = net.parameters();
  bool unchanged = parameters.size() == memory_.size();
  for (std::size_t i = 0; unchanged && i < memory_.size(); ++i) {
    unchanged = memory_[i].empty() || memory_[i][0].shape() == parameters[i].spec.shape;
  }
  require<value_error>(unchanged,
                       "trainer: the model's parameters have changed since the trainer was made; "
                       "make a new trainer after assigning or moving a model");
}

/// Returns the parameters. Each one is followed by its optimizer state, unless `slots` is null.
template <class Tensor, class Parameters, class Slots>
std::vector<trainer_core::place<Tensor>> trainer_core::places(Parameters& parameters,
                                                              Slots* slots) {
  std::vector<place<Tensor>> all;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter_spec& spec = parameters[i].spec;
    all.push_back({spec.name, &spec.shape, &parameters[i].value});
    for (std::size_t j = 0; slots != nullptr && j < (*slots)[i].size(); ++j) {
      all.push_back({text(spec.name, ".slot", j), &spec.shape, &(*slots)[i][j]});
    }
  }
  return all;
}

GLIA_INLINE std::vector<named_tensor> trainer_core::read(
    const glia::device& device, std::span<const place<const tensor>> from) {
  std::vector<named_tensor> result;
  result.reserve(from.size());
  for (const auto& place : from) {
    result.push_back({place.name, *place.shape, numbers_of(device, *place.value)});
  }
  return result;
}

/// Replaces the tensors `to` by `values`. Checks all values, and copies them to the device, before
/// it changes a tensor.
GLIA_INLINE void trainer_core::write(const glia::device& device,
                                     std::span<const named_tensor> values,
                                     std::span<const place<tensor>> to) {
  const bool floats = device.real_bytes() == sizeof(float);
  std::vector<tensor> made;
  for (std::size_t i = 0; i < to.size(); ++i) {
    require<value_error>(i < values.size(), "trainer: the state has no tensor '", to[i].name,
                         "'; it belongs to another model or optimizer");
    const named_tensor& saved = values[i];
    const auto is_float = std::holds_alternative<std::vector<float>>(saved.values);
    const std::size_t given = std::visit([](const auto& all) { return all.size(); }, saved.values);
    require<value_error>(saved.name == to[i].name && saved.shape == *to[i].shape &&
                             is_float == floats && given == saved.shape.size(),
                         "trainer: expected the tensor '", to[i].name, "' of shape ", *to[i].shape,
                         " and type ", floats ? "float" : "double", ", got '", saved.name,
                         "' of shape ", saved.shape, " and type ", is_float ? "float" : "double",
                         "; the state belongs to another model, optimizer or backend");
    made.push_back(tensor_of(device, saved.values, saved.shape));
  }
  require<value_error>(values.size() == to.size(), "trainer: the state has ", values.size(),
                       " tensors, but the model and its optimizer have ", to.size(),
                       "; it belongs to another model or optimizer");
  for (std::size_t i = 0; i < to.size(); ++i) {
    *to[i].value = std::move(made[i]);
  }
}

GLIA_INLINE batch_sum_record trainer_core::last_sum() const {
  return shared_ ? shared_->record() : batch_sum_record{};
}

GLIA_INLINE training_state trainer_core::state(const model_core& net) const {
  const model_access::reading unchanged(net.access());
  require_same_model(net);
  training_state result = at_;
  if (running_ != nullptr && at_.position > 0) {
    result.sums = running_->sums_so_far();
  }
  result.tensors = read(net.device(), places<const tensor>(net.parameters(), &memory_));
  return result;
}

GLIA_INLINE void trainer_core::restore(model_core& net, const training_state& from) {
  const model_access::training alone(net.access());
  require_same_model(net);
  require<value_error>(
      from.optimizer.empty() || at_.optimizer.empty() || from.optimizer == at_.optimizer,
      "trainer: the state is of ", from.optimizer, ", but the optimizer of this training is ",
      at_.optimizer,
      ", whose state differs; resume with the same optimizer, or begin a new training");
  write(net.device(), from.tensors, places<tensor>(net.parameters(), &memory_));
  std::string optimizer = std::move(at_.optimizer);
  at_ = from;
  at_.tensors.clear();
  at_.optimizer = std::move(optimizer);
}

GLIA_INLINE training_memory trainer_core::memory(const model_core& net) const {
  const std::size_t each = net.device().real_bytes();
  training_memory result;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const std::size_t bytes = net.parameters()[i].spec.shape.size() * each;
    result.parameters += bytes;
    result.optimizer_state += memory_[i].size() * bytes;
  }
  for (const kept_program& one : programs_) {
    result.graph = std::max(result.graph, one.made->scratch_bytes());
    result.batch_tiles = std::max(result.batch_tiles, one.made->lane_bytes());
  }
  if (shared_) {
    result.graph = std::max(result.graph, shared_->scratch_bytes());
    result.batch_tiles = std::max(result.batch_tiles, shared_->lane_bytes());
  }
  return result;
}

GLIA_INLINE std::vector<named_tensor> trainer_core::parameters(const model_core& net) const {
  const model_access::reading unchanged(net.access());
  constexpr const slot_lists* no_slots = nullptr;
  return read(net.device(), places<const tensor>(net.parameters(), no_slots));
}

GLIA_INLINE void trainer_core::set_parameters(model_core& net,
                                              std::span<const named_tensor> values) {
  const model_access::training alone(net.access());
  constexpr slot_lists* no_slots = nullptr;
  write(net.device(), values, places<tensor>(net.parameters(), no_slots));
}

GLIA_INLINE void trainer_core::step(const subject& what, model_part which, const batch& b,
                                    running_scores* sums, std::size_t rows) {
  together(options_.distribution.ranks.get(), [&] { checked_step(what, which, b, sums, rows); });
}

GLIA_INLINE void trainer_core::checked_step(const subject& what, model_part which, const batch& b,
                                            running_scores* sums, std::size_t rows) {
  model_core& net = what.net;
  const model_access::training alone(net.access());
  require_same_model(net);
  if (b.size > 0 || !shared_) {  // a rank can have no samples of a small batch
    net.require_batch(b.input_shape, which);
  }
  net.require_integers(std::span<const float>(b.inputs), which);
  require<value_error>(b.size == b.input_shape[0], "trainer: the batch has the size ", b.size,
                       ", but its inputs have the shape ", b.input_shape);
  require_targets(what.loss, b, net.output_shape());
  if (sums != nullptr) {
    sums->count(counted_by(what.loss, b, net.output_shape()));
    require_metrics(sums->metrics(),
                    {net.output_shape(),
                     b.is_labeled() ? std::nullopt : std::optional(sample_of(b.target_shape)),
                     what.loss.applied_activation});
    require_classes(what.loss, sums->metrics(), b, net.output_shape());
  }
  if (shared_) {
    run_shared(what, which, b, sums, rows);
  } else {
    run_step(what, which, b, sums, std::max(rows, b.size));
  }
}

GLIA_INLINE void trainer_core::run_step(const subject& what, model_part which, const batch& b,
                                        running_scores* sums, std::size_t rows) {
  model_core& net = what.net;
  std::optional<batch> filled;
  if (net.device().compiles_whole_graphs() && rows > b.size) {
    filled = filled_up(b, rows);
    if (program_for(what, which, shapes_for(what, *filled), sums).mixes_samples()) {
      filled.reset();  // padding would change the results
    }
  }
  const batch& given = filled ? *filled : b;
  const step_program& program = program_for(what, which, shapes_for(what, given), sums);
  std::optional<timeline::span> inputs(std::in_place, times_, "inputs to the device");
  step_inputs on_device = inputs_for(what, given, b.size);
  if (net.device().compiles_whole_graphs() && !on_device.present) {
    on_device.present = present(net.device(), b.size, given.size);
  }
  inputs.reset();
  sums_.resize(sums == nullptr ? 0 : sums->how().results());
  program.run(std::move(on_device), net.parameters(), memory_, room_, sums_, times_);
  take_log(net.device());
  ++at_.step;  // before the metrics, because the step is taken even if a metric throws
  if (sums != nullptr) {
    const timeline::span scores(times_, "scores");
    sums->add_results(sums_, b);
  }
}

/// Takes a step together with other ranks. Like run_step, it discards the recorded steps of another
/// model.
GLIA_INLINE void trainer_core::run_shared(const subject& what, model_part which, const batch& b,
                                          running_scores* sums, std::size_t rows) {
  model_core& net = what.net;
  if (net.identity() != recorded_) {
    shared_ = std::make_shared<shared_step>(options_.distribution);
    recorded_ = net.identity();
  }
  const auto forward = [&](scope& s, variable x) {
    return net.run(what.described, s, std::move(x));
  };
  const step_rule rule{forward, what.loss, what.optimizer, options_.gradient_transforms};
  const auto varying = what.optimizer.numbers(at_.step, at_.learning_rate_scale);
  const std::size_t count = what.optimizer.numbers_per_step;
  const std::size_t pieces = options_.distribution.pieces();
  const counted_targets counted = counted_by(what.loss, b, net.output_shape());
  shared_->run(
      {.device = net.device(),
       .which = which,
       .parameters = net.parameters(),
       .slots = memory_,
       .rule = rule,
       .sample = net.sample_shape(),
       .output = net.output_shape(),
       .depth_first = net.depth_first(),
       .frontier = net.frontier(),
       .counted = counted,
       .numbers = net.device().from_host(std::span<const double>(varying.data(), count), {count}),
       .key = {.seed = at_.seed, .step = static_cast<std::uint32_t>(at_.step)},
       .times = times_},
      b, sums == nullptr ? std::nullopt : std::optional(sums->how()), (rows + pieces - 1) / pieces);
  take_log(net.device());
  ++at_.step;  // before the metrics, because the step is taken even if a metric throws
  if (sums != nullptr) {
    const timeline::span scores(times_, "scores");
    shared_->add_scores(b, *sums);
  }
}

/// Moves the times of the device's helper threads into the recording, if there is one.
GLIA_INLINE void trainer_core::take_log(const glia::device& device) {
  busy_log* const log = device.implementation().log();
  if (log != nullptr && times_ != nullptr) {
    times_->helpers = log->take();
  }
}

GLIA_INLINE const tensor& trainer_core::present(const glia::device& device, std::size_t samples,
                                                std::size_t rows) {
  if (rows_.samples != samples || rows_.rows != rows) {
    std::vector<float> present(rows);
    std::fill_n(present.begin(), samples, 1.0F);
    rows_ = {samples, rows, device.samples_from_host(std::span<const float>(present), {rows})};
  }
  return rows_.present;
}

GLIA_INLINE void trainer_core::watch(const model_core& net, timeline* times) {
  times_ = times;
  if (busy_log* const log = net.device().implementation().log()) {
    log->watch(times != nullptr);
  }
}

GLIA_INLINE step_shapes trainer_core::shapes_for(const subject& what, const batch& b) {
  return {batch_of(b.size, what.net.sample_shape()), target_spec(b), what.net.depth_first(),
          !counted_by(what.loss, b, what.net.output_shape()).all()};
}

GLIA_INLINE step_inputs trainer_core::inputs_for(const subject& what, const batch& b,
                                                 std::size_t samples) const {
  const glia::device& device = what.net.device();
  const auto words = step_key{.seed = at_.seed,
                              .step = static_cast<std::uint32_t>(at_.step),
                              .first_sample = static_cast<std::uint32_t>(b.first)}
                         .to_words();
  const auto varying = what.optimizer.numbers(at_.step, at_.learning_rate_scale);
  const std::size_t count = what.optimizer.numbers_per_step;
  const counted_targets counted = counted_by(what.loss, b, what.net.output_shape());
  return {device.samples_from_host(std::span<const float>(b.inputs), b.input_shape),
          targets_of(device, b, what.net.output_shape()),
          device.from_host(std::span<const std::int32_t>(words), {words.size()}),
          device.from_host(std::span<const double>(varying.data(), count), {count}),
          counted.all() ? tensor{} : present_rows(device, counted, b, samples)};
}

GLIA_INLINE std::string trainer_core::first_not_finite(const subject& what, model_part which,
                                                       const batch& b) const {
  if (!all_finite(b.inputs) || !all_finite(b.targets)) {
    return all_finite(b.inputs) ? "the targets of the batch" : "the inputs of the batch";
  }
  for (const named_tensor& p :
       read(what.net.device(), places<const tensor>(what.net.parameters(), &memory_))) {
    if (!all_finite(p)) {
      return p.name + ", before the step";
    }
  }
  std::string found;
  const glia::device& device = what.net.device();
  step_inputs on_device = inputs_for(what, b, b.size);
  if (device.compiles_whole_graphs()) {
    const counted_targets counted = counted_by(what.loss, b, what.net.output_shape());
    on_device.present = present_rows(device, counted, b, b.size);
  }
  const step_program plain =
      make_program(what, which, shapes_for(what, b), std::nullopt, step_kind::plain);
  // Tensors are copied on write, so that the step does not change the model.
  parameter_list parameters = what.net.parameters();
  slot_lists slots = memory_;
  std::vector<tensor*> room;
  const auto look = [&](const graph_node& node, std::span<const tensor* const> results) {
    for (const tensor* result : results) {
      if (found.empty() && *result && !all_finite(device, *result)) {
        found = text_of(plain.calls().place_of(node), node.kernel.name());
      }
    }
  };
  const probe_function probe(look);
  plain.run(std::move(on_device), parameters, slots, room, {}, nullptr, &probe);
  return found;
}

GLIA_INLINE step_program trainer_core::make_program(const subject& what, model_part which,
                                                    const step_shapes& shapes,
                                                    const std::optional<scoring>& scores,
                                                    step_kind kind) const {
  const auto forward = [&](scope& s, variable x) {
    return what.net.run(what.described, s, std::move(x));
  };
  const step_rule rule{forward, what.loss, what.optimizer, options_.gradient_transforms};
  return {what.net.device(),
          shapes,
          what.net.parameters(),
          memory_,
          rule,
          scores,
          which == model_part::trained ? what.net.frontier() : std::nullopt,
          kind};
}

GLIA_INLINE const step_program& trainer_core::program_for(const subject& what, model_part which,
                                                          const step_shapes& shapes,
                                                          const running_scores* sums) {
  const auto fits = [&](const kept_program& known) {
    return known.shapes == shapes && known.which == which &&
           known.scores.has_value() == (sums != nullptr) &&
           (sums == nullptr || *known.scores == sums->how());
  };
  if (what.net.identity() != recorded_) {
    programs_.clear();
    recorded_ = what.net.identity();
  }
  const auto known = std::find_if(programs_.begin(), programs_.end(), fits);
  if (known != programs_.end()) {
    return *known->made;
  }
  if (programs_.size() == most_programs) {
    programs_.erase(programs_.begin());
  }
  const auto scores = sums == nullptr ? std::nullopt : std::optional(sums->how());
  programs_.push_back({shapes, which, scores,
                       std::make_shared<const step_program>(
                           make_program(what, which, shapes, scores, step_kind::fast))});
  return *programs_.back().made;
}

GLIA_INLINE history trainer_core::fit(const subject& what, const dataset_view& train,
                                      const dataset_view* validation, const fit_options& options) {
  history result;
  fit_run(*this, what, options, result).run(train, validation);
  return result;
}

}  // namespace glia
