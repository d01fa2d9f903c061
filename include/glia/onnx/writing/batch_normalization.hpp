#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/graph/uses.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

/// The inference form of a batch normalization: x * factor + shift, with factor = gamma /
/// sqrt(variance + epsilon) and shift = beta - mean * factor.
struct batch_normalization {
  value_id x = no_value;
  value_id gamma = no_value;  ///< Factor of each channel; no_value: 1.
  value_id beta = no_value;
  value_id mean = no_value;
  value_id variance = no_value;
  double epsilon = 0;
};

/// The batch normalizations of a graph, by their last node.
class batch_normalizations {
 public:
  std::map<std::size_t, batch_normalization> by_node;
  std::vector<bool> absorbed;  ///< Nodes that only these normalizations use.

  /// `parameter_graph` computes the values of `sample_graph` that depend only on parameters.
  batch_normalizations(const graph& parameter_graph, const graph& sample_graph)
      : absorbed(sample_graph.nodes().size(), false),
        parameter_graph_(&parameter_graph),
        sample_graph_(&sample_graph),
        parameter_uses_(parameter_graph),
        sample_uses_(sample_graph) {
    for (std::size_t n = 0; n < sample_graph.nodes().size(); ++n) {
      const value_id product = operand(sample_graph, sample_uses_,
                                       sample_graph.nodes()[n].results[0], binary_function::add, 0);
      if (product == no_value || !sample_uses_.taken_once(product)) {
        continue;
      }
      const value_id x = operand(sample_graph, sample_uses_, product, binary_function::multiply, 0);
      const value_id factor =
          operand(sample_graph, sample_uses_, product, binary_function::multiply, 1);
      const value_id shift = operand(sample_graph, sample_uses_, sample_graph.nodes()[n].results[0],
                                     binary_function::add, 1);
      if (auto found = parts_of(factor, shift)) {
        found->x = x;
        by_node[n] = *found;
        absorbed[sample_uses_.maker(product)] = true;
      }
    }
  }

 private:
  /// Returns operand i of the node that computes the value `id`, if the node computes this
  /// function. Otherwise returns `no_value`.
  [[nodiscard]] static value_id operand(const graph& g, const graph_uses& uses, value_id id,
                                        binary_function function, std::size_t i) {
    const auto* const k = uses.made_by<kernels::binary>(id);
    return k != nullptr && k->function == function ? g.nodes()[uses.maker(id)].operands[i]
                                                   : no_value;
  }
  /// If a node of the parameter graph computes `id` by this unary function, sets `map` and returns
  /// the operand of the node. Otherwise returns `no_value`.
  [[nodiscard]] value_id mapped(value_id id, unary_function function, unary_map& map) const {
    const auto* const k = parameter_uses_.made_by<kernels::unary>(id);
    if (k == nullptr || k->map.function != function) {
      return no_value;
    }
    map = k->map;
    return parameter_graph_->nodes()[parameter_uses_.maker(id)].operands[0];
  }
  [[nodiscard]] bool is_input(value_id id) const {
    for (const graph_input& input : parameter_graph_->inputs()) {
      if (input.value == id) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::optional<batch_normalization> parts_of(value_id factor, value_id shift) const {
    const auto parameter_operand = [&](value_id id, binary_function function, std::size_t i) {
      return operand(*parameter_graph_, parameter_uses_, id, function, i);
    };
    batch_normalization found;
    unary_map map;
    const value_id gamma = parameter_operand(factor, binary_function::multiply, 0);
    const value_id deviation = mapped(parameter_operand(factor, binary_function::multiply, 1),
                                      unary_function::reciprocal, map);
    const value_id widened = mapped(deviation, unary_function::sqrt, map);
    found.variance = mapped(widened, unary_function::affine, map);
    found.epsilon = map.b;
    const bool widens = map.a == 1;
    found.beta = parameter_operand(shift, binary_function::add, 0);
    const value_id moved =
        mapped(parameter_operand(shift, binary_function::add, 1), unary_function::affine, map);
    const bool turns = map.a == -1 && map.b == 0;
    found.mean = parameter_operand(moved, binary_function::multiply, 0);
    const bool same = parameter_operand(moved, binary_function::multiply, 1) == factor;
    const auto* const constant_gamma = parameter_uses_.made_by<kernels::full>(gamma);
    found.gamma = constant_gamma != nullptr && constant_gamma->value == 1 ? no_value : gamma;
    const bool parameters = is_input(found.variance) && is_input(found.beta) &&
                            is_input(found.mean) &&
                            (found.gamma == no_value ? constant_gamma != nullptr : is_input(gamma));
    return widens && turns && same && parameters ? std::optional(found) : std::nullopt;
  }

  const graph* parameter_graph_;
  const graph* sample_graph_;
  graph_uses parameter_uses_;
  graph_uses sample_uses_;
};

/// Writes batch normalization of x (N, ..., C). The channels are axis 1 in the file. The other
/// operands have C elements. gamma is `no_value` if all its elements are 1.
[[nodiscard]] inline values lower_batch_normalization(const lowering& l,
                                                      const batch_normalization& norm,
                                                      const std::vector<value>& file_values) {
  writer& w = l.out;
  const value& x = file_values[norm.x];
  axis_order order = plain_order(x.rank());
  if (x.rank() > 2) {
    order.pop_back();
    order.insert(order.begin() + 1, x.rank() - 1);
  }
  const std::size_t channels = x.shape.back().count;
  const std::string gamma = norm.gamma != no_value ? w.use(file_values[norm.gamma])
                                                   : w.numbers(text(l.place, ".ones"), {channels},
                                                               std::vector<float>(channels, 1.0F));
  const std::string y = w.call("BatchNormalization",
                               {w.use(w.arranged(x, order)), gamma, w.use(file_values[norm.beta]),
                                w.use(file_values[norm.mean]), w.use(file_values[norm.variance])},
                               [&](::onnx::NodeProto& node) {
                                 writer::set(node, "epsilon", static_cast<float>(norm.epsilon));
                               });
  return {l.result(y, order)};
}

}  // namespace glia::onnx
