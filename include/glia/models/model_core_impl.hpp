#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/quantization.hpp"
#include "glia/graph/uses.hpp"
#include "glia/models/inference_programs.hpp"
#include "glia/models/model_core.hpp"

namespace glia {

GLIA_INLINE value_id frozen_end::value_in(const graph& pass) const {
  const bool found = node < pass.nodes().size() && pass.nodes()[node].results[0] != no_value;
  const value_id value = found ? pass.nodes()[node].results[0] : no_value;
  require<value_error>(found && sample_of(pass.spec(value).shape) == output,
                       "model: the model runs different kernels for other batch sizes, so that "
                       "the outputs of its frozen layers cannot be cached; use "
                       "fit_options{.frozen_outputs = {.cache = false}}");
  return value;
}

GLIA_INLINE model_core::model_core(model_plan plan, std::optional<parameter_list> parameters,
                                   const shape& sample, glia::device device,
                                   const model_options& options, forward_pass forward)
    : sample_(sample),
      device_(std::move(device)),
      depth_first_(options.depth_first),
      forward_(std::move(forward)),
      plan_(std::move(plan)),
      parameters_(parameters ? std::move(*parameters)
                             : detail::make_parameters(plan_.parameters, device_, options.seed)) {
  detail::require_rows(plan_.output, 1);
  if (std::any_of(plan_.layers.begin(), plan_.layers.end(),
                  [](const layer_summary& layer) { return layer.frozen; })) {
    find_frontier();
  }
}

GLIA_INLINE std::size_t model_core::parameter_count() const {
  std::size_t count = 0;
  for (const parameter_spec& spec : plan_.parameters) {
    count += spec.shape.size();
  }
  return count;
}

GLIA_INLINE const parameter& model_core::parameter(const std::string& name) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const auto& p) { return p.spec.name == name; });
  if (found == parameters_.end()) {
    std::string known;
    for (const glia::parameter& p : parameters_) {
      known += (known.empty() ? "" : ", ") + p.spec.name;
    }
    throw value_error(
        text("model: there is no parameter '", name, "'; the parameters are: ", known));
  }
  return *found;
}
GLIA_INLINE parameter& model_core::parameter(const std::string& name) {
  return const_cast<glia::parameter&>(std::as_const(*this).parameter(name));
}

GLIA_INLINE const shape& model_core::sample_shape_of(model_part part) const {
  return part == model_part::trained && frontier_ ? frontier_->output : sample_;
}

GLIA_INLINE void model_core::require_batch(const shape& batch, model_part part) const {
  const shape expected = batch_of(batch.rank() == 0 ? 0 : batch[0], sample_shape_of(part));
  require<shape_error>(batch == expected && batch[0] > 0, "model: expected a batch ",
                       batch_text(expected), " of at least one sample, got ", batch);
}

template <class T>
void model_core::require_integers(std::span<const T> samples, model_part part) const {
  if (part != model_part::trained) {
    glia::require_integers(plan_.integers, samples, sample_.size());
  }
}

GLIA_INLINE tensor model_core::infer(model_part part, tensor x) const {
  const model_access::reading unchanged(access_);
  const auto ready = inference_for(part, x.shape());
  return (*ready)(std::move(x));
}

GLIA_INLINE shape model_core::require_inputs(const shape& inputs) const {
  require<shape_error>(inputs.rank() > 0 && inputs == batch_of(inputs[0], sample_),
                       "predict: expected inputs of shape ", batch_text(batch_of(1, sample_)),
                       ", got ", inputs);
  return batch_of(inputs[0], output_shape());
}

template <class T>
void model_core::predict(std::span<const T> inputs, std::span<T> outputs,
                         std::size_t batch_size) const {
  const std::size_t input_size = sample_.size();
  const std::size_t output_size = output_shape().size();
  const std::size_t rows = std::min(batch_size, inputs.size() / input_size);
  while (!inputs.empty()) {
    const std::size_t count = std::min(rows, inputs.size() / input_size);
    if (rows_for(model_part::whole, count, rows) > count) {
      // Uses the graph of the full batches, with padding after the samples.
      std::vector<T> filled(rows * input_size);
      std::copy(inputs.begin(), inputs.end(), filled.begin());
      std::vector<T> result(rows * output_size);
      predict_batch(std::span<const T>(filled), std::span<T>(result));
      std::copy_n(result.begin(), outputs.size(), outputs.begin());
      return;
    }
    predict_batch(inputs.first(count * input_size), outputs.first(count * output_size));
    inputs = inputs.subspan(count * input_size);
    outputs = outputs.subspan(count * output_size);
  }
}

GLIA_INLINE std::size_t model_core::rows_for(model_part part, std::size_t samples,
                                             std::size_t batch) const {
  const bool padded = device_.compiles_whole_graphs() && samples < batch &&
                      !passes::mixes_samples(recorded(part, batch).recorded());
  return padded ? batch : samples;
}

template <class T>
void model_core::predict_batch(std::span<const T> inputs, std::span<T> outputs) const {
  require_integers(inputs, model_part::whole);
  tensor x = device_.samples_from_host(inputs, batch_of(inputs.size() / sample_.size(), sample_));
  device_.to_host(infer(model_part::whole, std::move(x)), outputs);
}

GLIA_INLINE prepared model_core::prepare(std::size_t batch) const {
  require<value_error>(batch > 0, "prepare: expected a batch of at least one sample");
  const model_access::reading unchanged(access_);
  const shape inputs = batch_of(batch, sample_);
  return {inference_for(model_part::whole, inputs), inputs, batch_of(batch, output_shape()),
          plan_.integers};
}

GLIA_INLINE prepared model_core::prepare(std::size_t batch, const quantization& scales) const {
  require<value_error>(batch > 0, "prepare: expected a batch of at least one sample");
  const model_access::reading unchanged(access_);
  const auto quantize = [&](graph& g) {
    passes::quantize_products(g, detail::fixed_values(g, {0}), scales);
  };
  const function_ref<void(graph&)> quantized(quantize);
  const auto programs = detail::inference_programs::make(recorded(model_part::whole, batch),
                                                         device_, batch, depth_first_, &quantized);
  return {std::make_shared<const inference>(programs, parameters_), batch_of(batch, sample_),
          batch_of(batch, output_shape()), plan_.integers};
}

GLIA_INLINE std::shared_ptr<const inference> model_core::inference_for(model_part part,
                                                                       const shape& batch) const {
  require_batch(batch, part);
  const auto make = [&] {
    return detail::inference_programs::make(recorded(part, batch[0]), device_, batch[0],
                                            depth_first_);
  };
  return inference_[static_cast<std::size_t>(part)].get(batch[0], parameters_, make);
}

GLIA_INLINE recorder model_core::recorded(model_part part, std::size_t rows) const {
  const bool frozen = part == model_part::frozen;
  recorder result = record(frozen ? run_mode::training : run_mode::inference, rows);
  graph& g = result.recorded();
  if (frozen) {
    const value_id last = frontier_->value_in(g);
    g.outputs() = {{"frozen outputs", last}};
    for (graph_input& input : g.inputs()) {
      input.next = no_value;
    }
    prune(g);
    std::erase_if(g.inputs(), [](const graph_input& input) { return input.name == "key"; });
  } else if (part == model_part::trained) {
    cut(g, rows);
  }
  return result;
}

/// Records a pass of the description over `rows` samples. The inputs of the graph are the samples
/// and the parameters. For training, the key of the step is one more input, and the graph computes
/// new values for some parameters.
GLIA_INLINE recorder model_core::record(run_mode mode, std::size_t rows) const {
  recorder result(device_.fused());
  glia::tape tape(result);
  variable x = tape.constant(result.samples("inputs", real_of(batch_of(rows, sample_))));
  parameter_list parameters = detail::as_inputs(result, parameters_);
  std::vector<gradient_slot> slots;
  if (mode == run_mode::training) {
    const parameter_list old_parameters = parameters;
    scope s(tape, parameters, slots, result.input("key", {{step_key::words}, element::index}));
    result.output("outputs", run(s, std::move(x)).value());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      result.next(old_parameters[i].value, parameters[i].value);
    }
  } else {
    scope s(tape, std::as_const(parameters), slots);
    result.output("outputs", run(s, std::move(x)).value());
  }
  return result;
}

GLIA_INLINE void model_core::find_frontier() {
  const recorder recorded = record(run_mode::training, 2);
  const graph& g = recorded.recorded();
  std::vector<std::size_t> varying{1 + parameters_.size()};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const graph_input& input = g.inputs()[1 + i];
    if (plan_.parameters[i].trainable || input.next != no_value) {
      varying.push_back(1 + i);
    }
  }
  if (const auto last = passes::frozen_frontier(g, 0, varying)) {
    const std::size_t node = graph_uses(g).maker(*last);
    if (g.nodes()[node].results[0] == *last) {
      frontier_ = {node, sample_of(g.spec(*last).shape)};
    }
  }
}

/// Removes the frozen layers from a graph that was recorded for inference.
GLIA_INLINE void model_core::cut(graph& g, std::size_t rows) const {
  const recorder in_training = record(run_mode::training, rows);
  const graph& other = in_training.recorded();
  const auto last = passes::counterpart(other, g).find(frontier_->value_in(other));
  require<value_error>(last && passes::begin_at(g, 0, *last),
                       "model: the frozen layers run differently in inference than in training; "
                       "pass the samples themselves instead of frozen_outputs");
}

}  // namespace glia
