#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/program.hpp"
#include "glia/graph/quantization.hpp"
#include "glia/graph/uses.hpp"
#include "glia/models/model_core.hpp"
#include "glia/onnx/writing/constant.hpp"
#include "glia/onnx/writing/write.hpp"

namespace glia {

/// What `write_onnx` writes, and how.
struct onnx_options {
  std::string name = "glia";                      ///< of the graph
  std::map<std::string, std::string> metadata{};  ///< class names, preprocessing and the like

  /// Which products have weights and inputs of 8 bits, if any: what `calibrate` gives. They are
  /// written with QuantizeLinear and DequantizeLinear before them, weights as bytes.
  quantization quantized{};

  /// A model of more bytes than this has its weights in a file beside it, net.onnx.data for
  /// net.onnx, which goes with it; at most the 2 GiB that an ONNX file can have.
  std::size_t largest_file = std::size_t{1} << 30;
};

}  // namespace glia

namespace glia::onnx {

namespace detail {

/// Quantises products of a graph whose samples are its first input.
inline void quantize(graph& g, const quantization& how) {
  prune(g);
  passes::fold_scaling(g, fixed_values(g, {0}));
  passes::quantize_products(g, fixed_values(g, {0}), how);
}

/// The name of what was computed from parameters: that of the one which it is in another shape, or
/// of the weights which it is scaled, or one after its layer.
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

/// A model's inference graph, with its weights, as the message of an ONNX file.
template <backend B>
[[nodiscard]] ::onnx::ModelProto message_of(const model_core<B>& net,
                                            const description_ref<tracing_backend<B>>& described,
                                            const onnx_options& options) {
  using T = typename B::value_type;
  const auto recorded = [&](std::size_t rows) {
    return net.recorded(described, model_part::whole, rows);
  };
  recorder<B> first = recorded(2);
  recorder<B> second = recorded(3);
  if (!options.quantized.products.empty()) {
    detail::quantize(first.recorded(), options.quantized);
    detail::quantize(second.recorded(), options.quantized);
  }
  require_same_numbers(first.recorded(), second.recorded());
  // What is the same for all samples, but as long as their batch, is no constant of the file.
  std::vector<bool> fixed;
  for (value_id id = 0;
       id < std::min(first.recorded().value_count(), second.recorded().value_count()); ++id) {
    fixed.push_back(first.recorded().spec(id) == second.recorded().spec(id));
  }
  for (const graph_node& node : first.recorded().nodes()) {
    if (node.kernel.template as<kernels::fake_quantize>() != nullptr) {
      fixed[node.results[0]] = false;  // the file says how it comes about
    }
  }
  passes::hoisted two = passes::hoist(first.recorded(), {0}, fixed);
  const passes::hoisted three = passes::hoist(second.recorded(), {0}, fixed);
  const program<B> once(two.once, first.how(), net.device());

  parameter_list<B> parameters = net.parameters_now();
  std::vector<typename B::tensor*> inputs;
  std::vector<constant> known;
  const auto keep = [&](const std::string& name, const auto& tensor, const shape& s) {
    std::vector<T> numbers(s.size());
    net.device().to_host(tensor, std::span<T>(numbers));
    known.push_back({name, s, std::vector<float>(numbers.begin(), numbers.end())});
  };
  for (parameter<B>& p : parameters) {
    inputs.push_back(&p.value);
    keep(p.spec.name, p.value, p.spec.shape);
  }
  std::vector<typename B::tensor> computed(two.once.outputs().size());
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
template <class Model>
[[nodiscard]] ::onnx::ModelProto message_of(const Model& net, const onnx_options& options) {
  return message_of(net.core(), net.described(), options);
}

}  // namespace glia::onnx

namespace glia {

/// Writes a model as it infers, with its weights, to an ONNX file of opset 17, for batches of any
/// size: what ONNX Runtime, OpenVINO and other programs run. Inputs and outputs are as in glia,
/// images (N, H, W, C). Weights have the names of the parameters, operations those of the layers.
/// Needs the ONNX project's library: link `glia::onnx`.
///
/// Throws `value_error` for a layer with no counterpart and for one whose numbers depend on how
/// many samples a batch has, by name, and `data_error`, naming the file, where it cannot be
/// written: what was there before is then still there.
template <class Model>
void write_onnx(const Model& net, const std::filesystem::path& path,
                const onnx_options& options = {}) {
  ::onnx::ModelProto model = onnx::message_of(net, options);
  onnx::write_message(model, path, options.largest_file);
}

}  // namespace glia
