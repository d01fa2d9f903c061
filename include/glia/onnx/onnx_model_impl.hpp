#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/layers/recurrence.hpp"
#include "glia/onnx/onnx_model.hpp"
#include "glia/onnx/onnx_options.hpp"
#include "glia/onnx/reading/replay.hpp"
#include "glia/ops/ops.hpp"

namespace glia {

GLIA_INLINE variable onnx_model::operator()(scope& s, const variable& x) const {
  const shape sample = sample_of(x.shape());
  for (const onnx::graph_input_spec& input : interface_.inputs) {
    s.expect(interface_.inputs.size() > 1 ? sample == sample_shape() : input.fits(sample),
             "the input '", input.name, "' of the file takes samples ", input.words, ", got ",
             sample,
             input.fits(sample) ? ""
             : interface_.channels_last
                 ? ""
                 : "; onnx_model{path, {.channels_last = true}} takes images as (H, W, C)");
  }
  const std::vector<variable> inputs = inputs_of(s, x);
  std::vector<shape> shapes;
  shapes.reserve(inputs.size());
  for (const variable& input : inputs) {
    shapes.push_back(input.shape());
  }
  const onnx::read_result file_graph = onnx::detail::naming_file(*content_, [&] {
    return onnx::read_graph(*content_, interface_, shapes, s.is_training(),
                            glia::detail::has_recurrence(s.device()), s.is_planning());
  });
  onnx::replay values(file_graph.calls, x.owner());
  // A model is planned with one sample. If the file fixes the batch size, planning repeats that
  // sample.
  const std::size_t rows = x.shape()[0];
  const bool repeats = file_graph.rows != rows;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const shape batch = batch_of(file_graph.rows, sample_of(shapes[i]));
    values.set(file_graph.inputs[i], repeats ? ops::broadcast_to(inputs[i], batch) : inputs[i]);
  }
  std::size_t index = 0;
  for (const onnx::graph_part& part : file_graph.parts) {
    const scope::name_scope called(s, file_graph.name_of(part));
    static_cast<void>(s.run(layer_of_part(*this, file_graph, part, values), x, "onnx", index++));
  }
  std::vector<variable> results;
  for (const graph_output& output : file_graph.calls.outputs()) {
    const variable& y = values.real(output.value);
    results.push_back(repeats ? ops::slice(y, {0, 0, rows}) : y);
  }
  if (results.size() == 1) {
    return results[0];
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const shape y = results[i].shape();
    s.add_output(interface_.outputs[i], results[i]);
    results[i] = ops::reshape(results[i], {y[0], sample_of(y).size()});
  }
  return ops::concat(results, 1);
}

GLIA_INLINE onnx_options onnx_model::write_options() const {
  onnx_options options{.metadata = metadata()};
  if (const std::string& name = content_->graph().name(); !name.empty()) {
    options.name = name;
  }
  for (const onnx::graph_input_spec& input : interface_.inputs) {
    options.input_names.push_back(input.name);
  }
  options.output_names = interface_.outputs;
  options.channels_first = interface_.channels_last;
  return options;
}

}  // namespace glia
