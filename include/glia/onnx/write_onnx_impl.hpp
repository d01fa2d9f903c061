#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/program.hpp"
#include "glia/backends/recorder.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/onnx/write_onnx.hpp"
#include "glia/onnx/writing/constant.hpp"
#include "glia/onnx/writing/named_parts.hpp"

namespace glia::onnx {

namespace detail {

/// Quantizes products of a graph whose first input contains the samples.
inline void quantize(graph& g, const quantization& options) {
  prune(g);
  passes::fold_scaling(g, glia::detail::fixed_values(g, {0}));
  passes::quantize_products(g, glia::detail::fixed_values(g, {0}), options);
}

/// Returns the name of a constant that was computed from parameters. It is the name of the
/// parameter if the parameter was only reshaped, sliced or scaled. Otherwise it is a name made from
/// the layer.
[[nodiscard]] inline std::string folded_name(const graph& parameter_graph, const graph_uses& uses,
                                             value_id id) {
  value_id source = id;
  const auto scales_weights = [&](value_id product) {
    const auto* const k = uses.made_by<kernels::binary>(product);
    return k != nullptr && k->function == binary_function::multiply &&
           parameter_graph.spec(product).shape.rank() > 1 &&
           parameter_graph.spec(parameter_graph.nodes()[uses.maker(product)].operands[0]) ==
               parameter_graph.spec(product);
  };
  while (uses.made_by<kernels::reshape>(source) != nullptr ||
         uses.made_by<kernels::slice>(source) != nullptr || scales_weights(source)) {
    source = parameter_graph.nodes()[uses.maker(source)].operands[0];
  }
  for (const graph_input& input : parameter_graph.inputs()) {
    if (input.value == source) {
      return input.name;
    }
  }
  const std::string place =
      uses.maker(id) == graph_uses::no_node
          ? ""
          : parameter_graph.place_of(parameter_graph.nodes()[uses.maker(id)]).name;
  return text(place, place.empty() ? "" : ".", "folded");
}

/// Replaces the names of inputs or outputs, unless `names` is empty.
template <class End>
void replace_names(std::span<End> ends, const std::vector<std::string>& names,
                   std::string_view option) {
  std::vector<std::string> old_names;
  for (const End& end : ends) {
    old_names.push_back(end.name);
  }
  require<value_error>(names.empty() || names.size() == ends.size(), "write_onnx: expected ",
                       ends.size(), ends.size() == 1 ? " name" : " names", " in .", option,
                       ", for ", glia::detail::with_commas(old_names), "; got ", names.size(), ": ",
                       glia::detail::with_commas(names));
  for (std::size_t i = 0; i < names.size(); ++i) {
    ends[i].name = names[i];
  }
}

/// Sets the names that the first `samples` inputs and the outputs of a graph have in the file.
/// Throws `value_error` if there are too few or too many names, or if they are not distinct.
inline void set_names(graph& g, std::size_t samples, const onnx_options& options) {
  const std::span inputs(g.inputs().data(), samples);
  const std::span outputs(g.outputs());
  replace_names(inputs, options.input_names, "input_names");
  replace_names(outputs, options.output_names, "output_names");
  std::set<std::string> names;
  const auto check = [&](const std::string& name) {
    require<value_error>(!name.empty(),
                         "write_onnx: an input or output of the file has an empty name; give it a "
                         "name with .input_names or .output_names");
    require<value_error>(names.insert(name).second, "write_onnx: two of the inputs and outputs of ",
                         "the file have the name '", name,
                         "'; give them different names with .input_names or .output_names");
  };
  for (const graph_input& input : inputs) {
    check(input.name);
  }
  for (const graph_output& output : outputs) {
    check(output.name);
  }
}

}  // namespace detail

GLIA_INLINE ::onnx::ModelProto message_of(const model_core& net, const onnx_options& options) {
  const auto recorded = [&](std::size_t rows) { return net.recorded(model_part::whole, rows); };
  recorder first = recorded(2);
  recorder second = recorded(3);
  for (graph* const g : {&first.recorded(), &second.recorded()}) {
    if (!options.quantization.products.empty()) {
      detail::quantize(*g, options.quantization);
    }
    detail::split_input(*g, net.plan().inputs);
    detail::split_output(*g, net.plan().outputs);
  }
  std::vector<std::size_t> samples(first.recorded().inputs().size() - net.parameters().size());
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  detail::set_names(first.recorded(), samples.size(), options);
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
  passes::hoisted two = passes::hoist(first.recorded(), samples, fixed);
  const passes::hoisted three = passes::hoist(second.recorded(), samples, fixed);
  const program parameter_program(two.fixed, net.device());

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
  std::vector<glia::tensor> computed(two.fixed.outputs().size());
  parameter_program.run(inputs, computed);
  const graph_uses uses(two.fixed);
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const value_id id = two.fixed.outputs()[i].value;
    keep(detail::folded_name(two.fixed, uses, id), computed[i], two.fixed.spec(id).shape);
  }

  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("glia");
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name(options.name);
  for (const auto& [key, value] : options.metadata) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  write_graph(two.fixed, two.varying, three.varying, known, options.channels_first,
              *model.mutable_graph());
  return model;
}

}  // namespace glia::onnx
