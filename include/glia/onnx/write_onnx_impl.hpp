#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/program.hpp"
#include "glia/backends/recorder.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/onnx/write_onnx.hpp"
#include "glia/onnx/writing/constant.hpp"

namespace glia::onnx {

namespace detail {

/// Quantizes products of a graph whose first input contains the samples.
inline void quantize(graph& g, const quantization& how) {
  prune(g);
  passes::fold_scaling(g, glia::detail::fixed_values(g, {0}));
  passes::quantize_products(g, glia::detail::fixed_values(g, {0}), how);
}

/// Returns the name of a constant that was computed from parameters. It is the name of the
/// parameter if the parameter was only reshaped, sliced or scaled. Otherwise it is a name made from
/// the layer.
[[nodiscard]] inline std::string folded_name(const graph& once, const graph_uses& uses,
                                             value_id id) {
  value_id from = id;
  const auto scales_weights = [&](value_id made) {
    const auto* const k = uses.made_by<kernels::binary>(made);
    return k != nullptr && k->function == binary_function::multiply &&
           once.spec(made).shape.rank() > 1 &&
           once.spec(once.nodes()[uses.maker(made)].operands[0]) == once.spec(made);
  };
  while (uses.made_by<kernels::reshape>(from) != nullptr ||
         uses.made_by<kernels::slice>(from) != nullptr || scales_weights(from)) {
    from = once.nodes()[uses.maker(from)].operands[0];
  }
  for (const graph_input& input : once.inputs()) {
    if (input.value == from) {
      return input.name;
    }
  }
  const std::string place =
      uses.maker(id) == graph_uses::none ? "" : once.place_of(once.nodes()[uses.maker(id)]).name;
  return text(place, place.empty() ? "" : ".", "folded");
}

}  // namespace detail

GLIA_INLINE ::onnx::ModelProto message_of(const model_core& net, const onnx_options& options) {
  const auto recorded = [&](std::size_t rows) { return net.recorded(model_part::whole, rows); };
  recorder first = recorded(2);
  recorder second = recorded(3);
  if (!options.quantization.products.empty()) {
    detail::quantize(first.recorded(), options.quantization);
    detail::quantize(second.recorded(), options.quantization);
  }
  require_same_numbers(first.recorded(), second.recorded());
  // A value that is the same for all samples, but has the extent of the batch, cannot be a constant
  // of the file.
  std::vector<bool> fixed;
  for (value_id id = 0;
       id < std::min(first.recorded().value_count(), second.recorded().value_count()); ++id) {
    fixed.push_back(first.recorded().spec(id) == second.recorded().spec(id));
  }
  for (const graph_node& node : first.recorded().nodes()) {
    if (node.kernel.template as<kernels::fake_quantize>() != nullptr) {
      fixed[node.results[0]] = false;  // written as operators, not as a constant
    }
  }
  passes::hoisted two = passes::hoist(first.recorded(), {0}, fixed);
  const passes::hoisted three = passes::hoist(second.recorded(), {0}, fixed);
  const program once(two.once, net.device());

  parameter_list parameters = net.parameters_now();
  std::vector<glia::tensor*> inputs;
  std::vector<constant> known;
  const auto keep = [&](const std::string& name, const glia::tensor& value, const shape& s) {
    std::vector<float> numbers(s.size());
    net.device().to_host(value, std::span(numbers));
    known.push_back({name, s, std::move(numbers)});
  };
  for (parameter& p : parameters) {
    inputs.push_back(&p.value);
    keep(p.spec.name, p.value, p.spec.shape);
  }
  std::vector<glia::tensor> computed(two.once.outputs().size());
  once.run(inputs, computed);
  const graph_uses uses(two.once);
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const value_id made = two.once.outputs()[i].value;
    keep(detail::folded_name(two.once, uses, made), computed[i], two.once.spec(made).shape);
  }

  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("glia");
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name(options.name);
  for (const auto& [key, what] : options.metadata) {
    auto& made = *model.add_metadata_props();
    made.set_key(key);
    made.set_value(what);
  }
  write_graph(two.once, two.each, three.each, known, *model.mutable_graph());
  return model;
}

}  // namespace glia::onnx
