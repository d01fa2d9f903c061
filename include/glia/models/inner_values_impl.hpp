#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/program.hpp"
#include "glia/backends/recorder.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/graph/improve.hpp"
#include "glia/graph/uses.hpp"
#include "glia/models/inner_values.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/reductions.hpp"

namespace glia::detail {

/// Finds the output of a layer while a model is recorded, and makes it a leaf of the tape if its
/// gradient is needed.
class place_finder {
 public:
  place_finder(const model_place& place, bool needs_gradient)
      : place_(&place), needs_gradient_(needs_gradient) {}

  /// Sees the output of a layer; see `layer_probe`.
  void see(const std::string& name, variable& y) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
      names_.push_back(name);
    }
    if (name != place_->layer || call_count_++ != place_->call) {
      return;
    }
    if (needs_gradient_) {
      y = y.owner().leaf(y.value());
    }
    found_ = y;
  }

  /// Returns the output. Throws `value_error` if the model has no such layer, or if the layer runs
  /// less often.
  [[nodiscard]] const variable& found(std::string_view caller) const {
    if (call_count_ == 0) {
      throw value_error(text(caller, ": there is no layer '", place_->layer,
                             "'; the layers are: ", with_commas(names_),
                             "; to read the output of another composition, give it a name with "
                             "glia::named"));
    }
    require<value_error>(found_.has_value(), caller, ": expected a call of the layer '",
                         place_->layer, "' from 0 to ", call_count_ - 1, ", got ", place_->call);
    return *found_;
  }

 private:
  const model_place* place_;
  bool needs_gradient_;
  std::vector<std::string> names_;
  std::size_t call_count_ = 0;
  std::optional<variable> found_;
};

/// A compiled graph that computes the values at a place in a model, and their gradients, for
/// batches of one size. Its inputs are the samples, the parameters and, for gradients, a mask of
/// the outputs whose gradients are computed.
class inner_program {
 public:
  inner_program(const model_core& net, std::size_t rows, std::string_view caller,
                const model_place& place, bool gradients)
      : program_(record(net, rows, caller, place, gradients)) {}

  /// Returns the shape of the values, (rows, ...).
  [[nodiscard]] shape values_shape() const {
    return program_.calls().spec(program_.calls().outputs().front().value).shape;
  }

  /// Runs the graph. `mask` is empty if no gradients are computed. Returns the values and, if they
  /// are computed, the gradients.
  [[nodiscard]] std::vector<tensor> run(tensor x, parameter_list parameters, tensor mask) const {
    std::vector<tensor*> inputs{&x};
    for (parameter& p : parameters) {
      inputs.push_back(&p.value);
    }
    if (mask) {
      inputs.push_back(&mask);
    }
    std::vector<tensor> results(program_.calls().outputs().size());
    program_.run(inputs, results);
    return results;
  }

 private:
  [[nodiscard]] static program record(const model_core& net, std::size_t rows,
                                      std::string_view caller, const model_place& place,
                                      bool gradients) {
    const recorder rec(net.device().fused());
    glia::tape tape(rec);
    const tensor samples = rec.samples("inputs", real_of(batch_of(rows, net.sample_shape())));
    const parameter_list parameters = as_inputs(rec, net.parameters());
    const bool is_input = place.layer.empty();
    const variable x = is_input && gradients ? tape.leaf(samples) : tape.constant(samples);
    place_finder finder(place, gradients);
    const layer_probe probe(&finder, [](const void* self, const std::string& name, variable& y) {
      const_cast<place_finder*>(static_cast<const place_finder*>(self))->see(name, y);
    });
    std::vector<gradient_slot> slots;
    scope s(tape, parameters, slots);
    s.set_probe(probe);
    const variable y = net.run(s, x);
    const variable& inner = is_input ? x : finder.found(caller);
    require<shape_error>(
        inner.shape().rank() > 0 && inner.shape()[0] == rows, caller, ": the output ",
        inner.shape(), " of the layer '", place.layer, "' does not have one row for each of ", rows,
        rows == 1 ? " sample" : " samples",
        ", for example because the layer is inside of time_distributed; ask for the composition "
        "around it, and give that a name with glia::named");
    rec.output("values", inner.value());
    std::vector<std::size_t> varying{0};
    if (gradients) {
      varying.push_back(1 + parameters.size());
      rec.output("gradients", gradient(rec, y, inner, caller, place));
    }
    graph g = rec.recorded();
    prune(g);
    fuse_kernels(g, varying, net.device().fused());
    return program(std::move(g), net.device());
  }

  /// Records the gradient of the outputs that a mask selects with respect to `inner`.
  [[nodiscard]] static tensor gradient(const recorder& rec, const variable& y,
                                       const variable& inner, std::string_view caller,
                                       const model_place& place) {
    glia::tape& tape = y.owner();
    const variable mask = tape.constant(rec.samples("mask", real_of(y.shape())));
    const variable score = ops::sum(y * mask);
    tensor result;
    if (score.needs_gradient()) {
      tape.backward(score);
      result = tape.take_gradient(inner.slot());
    }
    require<value_error>(
        static_cast<bool>(result), caller, ": the outputs of the model have no gradient with ",
        "respect to ", place.layer.empty() ? "the samples" : "the layer '" + place.layer + "'",
        place.layer.empty() ? ", for example because an embedding reads them as integers"
                            : "; choose a layer that the outputs depend on, not one inside of "
                              "an onnx_model");
    return result;
  }

  program program_;
};

/// Returns the index of the selected output of each sample.
template <class T>
[[nodiscard]] std::vector<std::size_t> selected_outputs(const model_core& net,
                                                        std::span<const T> samples,
                                                        std::size_t count, std::size_t batch_size,
                                                        std::string_view caller,
                                                        const score_gradients& gradients) {
  const std::size_t size = net.output_shape().size();
  if (gradients.output) {
    require<value_error>(*gradients.output < size, caller, ": expected an output index below ",
                         size, ", the number of outputs of a sample, got ", *gradients.output);
    return std::vector<std::size_t>(count, *gradients.output);
  }
  std::vector<T> outputs(count * size);
  net.predict(samples, std::span<T>(outputs), batch_size);
  std::vector<std::size_t> result;
  result.reserve(count);
  for (std::size_t n = 0; n < count; ++n) {
    const auto row = std::span(outputs).subspan(n * size, size);
    result.push_back(
        static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return result;
}

template <class T>
inner_values<T> compute_inner_values(const model_core& net, std::span<const T> samples,
                                     std::size_t count, std::size_t batch_size,
                                     std::string_view caller, const model_place& place,
                                     const score_gradients* gradients) {
  net.require_integers(samples, model_part::whole);
  std::vector<std::size_t> selected;
  if (gradients != nullptr) {
    selected = selected_outputs(net, samples, count, batch_size, caller, *gradients);
  }
  const glia::device& device = net.device();
  const parameter_list parameters = net.parameters_now();
  const std::size_t sample_size = net.sample_shape().size();
  const std::size_t output_size = net.output_shape().size();
  std::size_t rows = std::clamp<std::size_t>(count, 1, batch_size);
  std::optional<inner_program> calls(std::in_place, net, rows, caller, place, gradients != nullptr);
  const std::size_t value_size = sample_of(calls->values_shape()).size();
  inner_values<T> result{batch_of(count, sample_of(calls->values_shape())), {}, {}};
  result.values.resize(count * value_size);
  result.gradients.resize(gradients != nullptr ? count * value_size : 0);
  for (std::size_t first = 0; first < count; first += rows) {
    if (count - first < rows) {
      rows = count - first;
      calls.emplace(net, rows, caller, place, gradients != nullptr);
    }
    tensor mask;
    if (gradients != nullptr) {
      std::vector<T> ones(rows * output_size);
      for (std::size_t row = 0; row < rows; ++row) {
        ones[row * output_size + selected[first + row]] = 1;
      }
      mask = device.samples_from_host(std::span<const T>(ones), batch_of(rows, net.output_shape()));
    }
    const std::vector<tensor> outputs = calls->run(
        device.samples_from_host(samples.subspan(first * sample_size, rows * sample_size),
                                 batch_of(rows, net.sample_shape())),
        parameters, std::move(mask));
    device.to_host(outputs[0],
                   std::span<T>(result.values).subspan(first * value_size, rows * value_size));
    if (gradients != nullptr) {
      device.to_host(outputs[1],
                     std::span<T>(result.gradients).subspan(first * value_size, rows * value_size));
    }
  }
  return result;
}

}  // namespace glia::detail
