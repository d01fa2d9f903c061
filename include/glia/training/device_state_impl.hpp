#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/inline.hpp"
#include "glia/training/device_state.hpp"

namespace glia {

namespace detail {

/// A tensor of a training's state, with its name.
template <class Tensor>
struct state_tensor {
  std::string name;
  const glia::shape* shape;
  Tensor* value;
};

/// Returns the parameters. Each one is followed by its optimizer state, unless `slots` is null.
template <class Tensor, class Parameters, class Slots>
[[nodiscard]] std::vector<state_tensor<Tensor>> state_tensors(Parameters& parameters,
                                                              Slots* slots) {
  std::vector<state_tensor<Tensor>> result;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const parameter_spec& spec = parameters[i].spec;
    result.push_back({spec.name, &spec.shape, &parameters[i].value});
    for (std::size_t j = 0; slots != nullptr && j < (*slots)[i].size(); ++j) {
      result.push_back({text(spec.name, ".slot", j), &spec.shape, &(*slots)[i][j]});
    }
  }
  return result;
}

GLIA_INLINE std::vector<named_tensor> read_tensors(
    const device& source, std::span<const state_tensor<const tensor>> tensors) {
  std::vector<named_tensor> result;
  result.reserve(tensors.size());
  for (const auto& t : tensors) {
    result.push_back({t.name, *t.shape, numbers_of(source, *t.value)});
  }
  return result;
}

/// Replaces tensors by `values`. Checks all values, and copies them to the device, before it
/// changes a tensor.
GLIA_INLINE void write_tensors(const device& destination, std::span<const named_tensor> values,
                               std::span<const state_tensor<tensor>> tensors) {
  const bool floats = destination.real_bytes() == sizeof(float);
  std::vector<tensor> copies;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& expected = tensors[i];
    require<value_error>(i < values.size(), "trainer: the state has no tensor '", expected.name,
                         "'; it belongs to another model or optimizer");
    const named_tensor& saved = values[i];
    const auto is_float = std::holds_alternative<std::vector<float>>(saved.values);
    const std::size_t count =
        std::visit([](const auto& numbers) { return numbers.size(); }, saved.values);
    require<value_error>(saved.name == expected.name && saved.shape == *expected.shape &&
                             is_float == floats && count == saved.shape.size(),
                         "trainer: expected the tensor '", expected.name, "' of shape ",
                         *expected.shape, " and type ", floats ? "float" : "double", ", got '",
                         saved.name, "' of shape ", saved.shape, " and type ",
                         is_float ? "float" : "double",
                         "; the state belongs to another model, optimizer or backend");
    copies.push_back(tensor_of(destination, saved.values, saved.shape));
  }
  require<value_error>(values.size() == tensors.size(), "trainer: the state has ", values.size(),
                       " tensors, but the model and its optimizer have ", tensors.size(),
                       "; it belongs to another model or optimizer");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    *tensors[i].value = std::move(copies[i]);
  }
}

}  // namespace detail

GLIA_INLINE device_state::device_state(const model_core& net, const any_optimizer& optimizer,
                                       std::uint64_t seed) {
  counters_.seed = seed;
  counters_.optimizer = optimizer.state_name;
  for (const parameter& p : net.parameters()) {
    std::vector<tensor>& slots = slots_.emplace_back();
    for (std::size_t i = 0; p.spec.trainable && i < optimizer.state_count; ++i) {
      slots.push_back(net.device().run(kernels::full{p.spec.shape, optimizer.initial_state}));
    }
  }
}

GLIA_INLINE void device_state::require_same_model(const model_core& net) const {
  const parameter_list& parameters = net.parameters();
  bool unchanged = parameters.size() == slots_.size();
  for (std::size_t i = 0; unchanged && i < slots_.size(); ++i) {
    unchanged = slots_[i].empty() || slots_[i][0].shape() == parameters[i].spec.shape;
  }
  require<value_error>(unchanged,
                       "trainer: the model's parameters have changed since the trainer was made; "
                       "make a new trainer after assigning or moving a model");
}

GLIA_INLINE training_state device_state::read(const model_core& net) const {
  const model_access::reading unchanged(net.access());
  require_same_model(net);
  training_state result = counters_;
  if (scores_ != nullptr && counters_.position > 0) {
    result.sums = scores_->sums_so_far();
  }
  result.tensors = tensors(net);
  return result;
}

GLIA_INLINE std::vector<named_tensor> device_state::tensors(const model_core& net) const {
  return detail::read_tensors(net.device(),
                              detail::state_tensors<const tensor>(net.parameters(), &slots_));
}

GLIA_INLINE void device_state::restore(model_core& net, const training_state& saved) {
  const model_access::training alone(net.access());
  require_same_model(net);
  require<value_error>(
      saved.optimizer.empty() || counters_.optimizer.empty() ||
          saved.optimizer == counters_.optimizer,
      "trainer: the state is of ", saved.optimizer, ", but the optimizer of this training is ",
      counters_.optimizer,
      ", whose state differs; resume with the same optimizer, or begin a new training");
  detail::write_tensors(net.device(), saved.tensors,
                        detail::state_tensors<tensor>(net.parameters(), &slots_));
  std::string optimizer = std::move(counters_.optimizer);
  counters_ = saved;
  counters_.tensors.clear();
  counters_.optimizer = std::move(optimizer);
}

GLIA_INLINE training_memory device_state::memory(const model_core& net) const {
  training_memory result;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::size_t bytes = net.parameters()[i].spec.shape.size() * net.device().real_bytes();
    result.parameters += bytes;
    result.optimizer_state += slots_[i].size() * bytes;
  }
  return result;
}

namespace detail {

GLIA_INLINE std::vector<named_tensor> read_parameters(const model_core& net) {
  const model_access::reading unchanged(net.access());
  constexpr const slot_lists* no_slots = nullptr;
  return detail::read_tensors(net.device(),
                              detail::state_tensors<const tensor>(net.parameters(), no_slots));
}

GLIA_INLINE void write_parameters(model_core& net, std::span<const named_tensor> values) {
  const model_access::training alone(net.access());
  constexpr slot_lists* no_slots = nullptr;
  detail::write_tensors(net.device(), values,
                        detail::state_tensors<tensor>(net.parameters(), no_slots));
}

}  // namespace detail

}  // namespace glia
