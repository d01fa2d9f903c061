#pragma once

// The implementation of `scope`: parameters, names of layers, and locations in error messages.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/layers/plan_writer.hpp"
#include "glia/layers/scope.hpp"

namespace glia {

GLIA_INLINE variable scope::parameter(std::string_view name, const shape& s,
                                      const initializer& initial) {
  const auto& value = next(name, s, initial, true);
  if (shared_.is_repeated()) {
    return shared_.stored(parameter_count_ - 1);
  }
  variable result = on_tape(value);
  shared_.store(parameter_count_ - 1, result);
  return result;
}

GLIA_INLINE variable scope::on_tape(const tensor& value) {
  if (changing_ == nullptr) {
    // The tensor may be borrowed because the model outlives the run; see model::infer.
    slots_->emplace_back();
    return tape_->constant(value.borrowed());
  }
  variable result = is_training() ? tape_->leaf(value) : tape_->constant(value);
  slots_->push_back(result.slot());
  return result;
}

GLIA_INLINE const tensor& scope::state(std::string_view name, const shape& s,
                                       const initializer& initial) {
  if (!shared_.is_repeated()) {
    slots_->emplace_back();
  }
  return next(name, s, initial, false);
}

GLIA_INLINE tensor& scope::mutable_state(std::string_view name, const shape& s,
                                         const initializer& initial) {
  static_cast<void>(state(name, s, initial));
  expect_value(changing_ != nullptr && (is_training() || adaptation_ != nullptr),
               "the layer changes '", name,
               "' in inference; change it only if is_training() is true");
  return (*changing_)[parameter_count_ - 1].value;
}

GLIA_INLINE random_source scope::next_random() {
  if (!key_) {
    key_ = device().from_host(std::span<const std::int32_t>(random_.to_words()), {step_key::words});
  }
  return {key_, detail::layer_streams + random_count_++};
}

GLIA_INLINE void scope::expect_all_asked() const {
  if (is_training() && parameter_count_ != parameters_->size()) {
    expect_value(false, "the model requested the parameter ", asked_for(parameter_count_),
                 " when it was built, but not in this run; request the same parameters in every "
                 "run");
  }
}

GLIA_INLINE void scope::expect_channels_last(const shape& x) const {
  if (plan_ == nullptr || x.rank() != 4 || !plan_->as_given(x)) {
    return;
  }
  const bool rows_of_channels = x[1] == 1 || x[1] == 3 || x[1] == 4;
  expect(!rows_of_channels || x[2] != x[3] || x[3] < 8, "samples of shape ", sample_of(x),
         " look like images (C, H, W), but glia expects images (N, H, W, C), channels last; give "
         "the model the shape ",
         shape{x[2], x[3], x[1]}, " and transpose the samples or, if they do have ", x[3],
         " channels, add reshape{{", x[1], ", ", x[2], ", ", x[3], "}} before this layer");
}

GLIA_INLINE void scope::expect_integers(const shape& x, std::size_t count, std::string_view advice,
                                        bool allows_missing) const {
  if (plan_ != nullptr) {
    plan_->add_integers(x, {0, 0, count, location_text(), advice, allows_missing});
  }
}

GLIA_INLINE void scope::expect_adapt() const {
  if (plan_ != nullptr && !shared_.is_repeated()) {
    plan_->add_adapted_layer();
  }
}

GLIA_INLINE void scope::add_input(std::string_view name, const variable& x) const {
  if (plan_ != nullptr) {
    expect_value(plan_->add_input(name, x.value().number(), x.shape()),
                 "the model has two inputs named '", name, "'; give each its own name");
  }
}
GLIA_INLINE void scope::add_output(std::string_view name, const variable& y) const {
  if (plan_ != nullptr) {
    expect_value(plan_->add_output(name, y.value().number(), y.shape()),
                 "the model has two outputs named '", name, "'; give each its own name");
  }
}

GLIA_INLINE void scope::store_context(std::string_view name, const variable& steps) {
  for (context_sequence& known : contexts_) {
    if (known.name == name) {
      known.steps = steps;
      known.mask = step_mask_;
      return;
    }
  }
  contexts_.push_back({std::string(name), steps, step_mask_});
}

GLIA_INLINE const context_sequence& scope::context(std::string_view name) const {
  std::vector<std::string> names;
  for (const context_sequence& known : contexts_) {
    if (known.name == name) {
      return known;
    }
    names.push_back(known.name);
  }
  detail::fail<value_error>(
      {location_text(), "there is no context '", name, "'; ",
       names.empty() ? "no context has run before this layer"
                     : "the contexts before this layer are: " + detail::with_commas(names),
       "; store one with glia::context{\"", name, "\", layer}"});
}

GLIA_INLINE void scope::expect_stepwise(const detail::running_layer& layer) const {
  expect_value(
      stream_ == nullptr || layer.runs_stepwise, "stream: a layer of type '", layer.type_name,
      "' cannot run on blocks of a sequence; a stream runs recurrent layers, causal "
      "convolutions, causal attention and layers that treat each step alone; predict whole "
      "sequences");
}

GLIA_INLINE void scope::enter(detail::running_layer& layer, const variable& x) {
  innermost_ = &layer;
  expect_stepwise(layer);
  if (graph* const calls = device().recording()) {
    layer.recorded_in = calls->place();
    if (layer.contains_layers) {
      layer.name = names_.next_container(
          layer.type_name == detail::running_layer::no_type_name ? "" : layer.type_name);
    } else {
      layer.name = names_.next(layer.type_name);
      calls->set_place(graph_place{layer.name});
    }
    if (plan_ != nullptr && layer.contains_layers) {
      plan_->start_container(layer.name);
    } else if (plan_ != nullptr) {
      plan_->start_layer(layer.name, layer.describe(layer.layer), frozen_, x.value().number(),
                         step_mask_ ? step_mask_.number() : no_value);
    }
  }
}

GLIA_INLINE void scope::leave(const detail::running_layer& layer, variable& y,
                              std::optional<output_kind> gives) {
  if (plan_ != nullptr && layer.contains_layers) {
    plan_->finish_container();
  } else if (plan_ != nullptr) {
    const value_id output = plan_->finish_layer(y.value().number(), y.shape(), layer.sets_axes);
    if (output != y.value().number()) {
      y = {y.owner(), tensor::recorded(output, device().recording()->spec(output)), y.slot()};
    }
  }
  if (step_mask_) {
    const shape& steps = step_mask_.shape();
    const shape& outputs = y.shape();
    if (outputs.rank() < 3 || outputs[0] != steps[0] || outputs[1] != steps[1]) {
      step_mask_ = {};
    }
  }
  if (!layer.preserves_output_kind) {
    note_outputs(gives, &layer);
  }
  if (graph* const calls = device().recording()) {
    calls->set_place(layer.recorded_in);
    if (probe_ != nullptr && !layer.name.empty()) {
      (*probe_)(layer.name, y);
    }
  }
  innermost_ = layer.outer;
}

GLIA_INLINE detail::shared_layers::run scope::enter_shared(const std::string& name) {
  names_.enter_path(name);
  return shared_.enter(name, parameter_count_);
}

GLIA_INLINE void scope::leave_shared(const std::string& name,
                                     const detail::shared_layers::run& ended) {
  names_.leave();
  if (ended.repeated) {
    const std::size_t expected = shared_.parameter_count(ended);
    const std::size_t count = parameter_count_ - shared_.first_parameter(ended);
    expect_value(count == expected, "the first shared layer '", name, "' has ", expected,
                 " parameters, this one has ", count,
                 "; give shared layers with different parameters different names");
  }
  shared_.leave(ended, parameter_count_);
}

GLIA_INLINE scope::output_origin scope::input_origin() const {
  return plan_ == nullptr ? output_origin() : plan_->given();
}

GLIA_INLINE void scope::set_input_origin(const output_origin& origin) const {
  if (plan_ != nullptr) {
    plan_->gives(origin.first, origin.second);
  }
}

/// Writes the output kind of a layer that has just run to the plan.
GLIA_INLINE void scope::note_outputs(std::optional<output_kind> kind,
                                     const detail::running_layer* layer) const {
  if (plan_ != nullptr) {
    plan_->gives(kind.value_or(output_kind::other), kind ? text_of(layer) : "");
  }
}

GLIA_INLINE const tensor& scope::next(std::string_view name, const shape& s,
                                      const initializer& initial, bool trainable) {
  trainable = trainable && !frozen_;
  const std::size_t index = parameter_count_++;
  if (plan_ != nullptr && !shared_.is_repeated()) {
    expect_value(fits_memory(s, sizeof(float)), "parameter '", name, "' of shape ", s,
                 " is larger than any machine's memory; check the layer's units or filters");
    expect_value(innermost_ != nullptr && !innermost_->contains_layers, "requests the parameter '",
                 name,
                 "', but declares contains_layers; a layer that contains layers has no parameters "
                 "itself, so put the parameter into one of them or remove contains_layers");
    const parameter_spec spec{text(innermost_->name, '.', name), s, initial, trainable};
    expect_value(
        plan_->add_parameter(spec), "requests the parameter '", spec.name,
        "', but another layer has a parameter of this name; give one of the layers another "
        "name, as in glia::named{\"head\", layer}");
    changing_->push_back({spec, device().run(kernels::full{s, 0})});
  }
  const bool as_planned = index < parameters_->size() && (*parameters_)[index].spec.shape == s &&
                          is_called((*parameters_)[index].spec.name, name);
  if (!as_planned) {
    expect_value(false, "requests the parameter '", name, "' of shape ", s, ", but earlier ",
                 asked_for(index), " was requested here; ",
                 shared_.is_repeated()
                     ? "layers that share parameters must have the same sizes"
                     : "request the same parameters in the same order in every run");
  }
  return (*parameters_)[index].value;
}

/// Returns whether `full` is the full name of the running layer's parameter `name`.
GLIA_INLINE bool scope::is_called(std::string_view full, std::string_view name) const {
  const bool ends_so = full.size() > name.size() && full.ends_with(name) &&
                       full[full.size() - name.size() - 1] == '.';
  return full == name ||
         (ends_so && (!names_.is_used() || full.substr(0, full.size() - name.size() - 1) ==
                                               std::string_view(innermost_->name)));
}

/// Returns the name and shape of the parameter that was requested at this index in the first run.
GLIA_INLINE std::string scope::asked_for(std::size_t index) const {
  if (index >= parameters_->size()) {
    return "no parameter";
  }
  const parameter_spec& spec = (*parameters_)[index].spec;
  return text('\'', spec.name, "' of shape ", spec.shape);
}

/// Returns the path of a layer through its containers: sequential[3] dense(256).
GLIA_INLINE std::string scope::text_of(const detail::running_layer* innermost) {
  std::string result;
  for (const detail::running_layer* frame = innermost; frame != nullptr; frame = frame->outer) {
    const std::string step = frame->holder_name.empty() ? ""
                             : frame->index == no_index
                                 ? text(frame->holder_name, ": ")
                                 : text(frame->holder_name, '[', frame->index, "] ");
    result.insert(0, frame == innermost ? step + frame->describe(frame->layer) : step);
  }
  return result;
}
GLIA_INLINE std::string scope::location_text() const {
  return innermost_ == nullptr ? "" : text_of(innermost_) + ": ";
}

}  // namespace glia
