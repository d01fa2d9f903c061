#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/products.hpp"
#include "glia/onnx/reading/graph_body.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/weight_inputs.hpp"

namespace glia::onnx {

/// Merges nodes of a file with an existing node of the graph.
class joined_nodes {
 public:
  joined_nodes(const graph_body& body, graph_builder& out, std::vector<graph_part>& parts)
      : body_(&body), out_(&out), parts_(&parts) {}

  /// Merges a node with an earlier node and returns true, if that is possible. An addition after a
  /// product or convolution without a bias becomes its bias. A product x sigmoid(x) becomes one
  /// function. The result of the earlier node must have no other use, and the node must be in the
  /// same body.
  [[nodiscard]] bool joins(operation& n) {
    const bool adds = n.node.op_type() == "Add";
    if ((!adds && n.node.op_type() != "Mul") || n.x.size() != 2) {
      return false;
    }
    for (const std::size_t i : {0U, 1U}) {
      const tensor& x = n.x[i];
      const tensor& other = n.x[1 - i];
      if (!x.computed() || !is_alone(n.node.input(static_cast<int>(i)), adds)) {
        continue;
      }
      std::size_t number = 0;
      graph_node* const maker = maker_of(x.id, number);
      if (maker == nullptr) {
        continue;
      }
      if (!adds) {
        const auto* const sigmoid = maker->kernel.as<kernels::unary>();
        if (sigmoid != nullptr && sigmoid->map == unary_map{unary_function::sigmoid} &&
            maker->results[0] == x.id && other.computed() && maker->operands[0] == other.id &&
            other.axes == x.axes && other.extents == x.extents) {
          maker->kernel = kernels::unary{{unary_function::silu}};
          if (const auto part = part_with(number); part != parts_->end()) {
            part->operation = part->described = "Silu";
          }
          n.give(x);
          return true;
        }
        continue;
      }
      if (!is_bias_of(x, other) ||
          !is_at_hand(out_->weights, other, flat(other.axes), {other.size()})) {
        continue;
      }
      const auto* const dense = maker->kernel.as<kernels::dense>();
      const auto* const convolution = maker->kernel.as<kernels::conv2d>();
      const bool bare = ((dense != nullptr && dense->map == kernels::identity_map) ||
                         (convolution != nullptr && convolution->map == kernels::identity_map)) &&
                        out_->shape_of_value(maker->results[0]).back() == other.size();
      const auto part = part_with(number);
      if (bare && maker->operands[2] == no_value && part != parts_->end() &&
          is_asked_before(other, part)) {
        const std::size_t weight_count = out_->weights.size();
        maker->operands[2] = out_->arranged(other, flat(other.axes), {other.size()});
        if (out_->weights.size() > weight_count) {
          part->weights.push_back(weight_count);
        }
        n.give(x);
        return true;
      }
    }
    return false;
  }

 private:
  /// Returns the part with a node of the graph.
  [[nodiscard]] std::vector<graph_part>::iterator part_with(std::size_t node) const {
    return std::find_if(parts_->begin(), parts_->end(),
                        [&](const graph_part& p) { return p.first <= node && node < p.end; });
  }
  /// Returns whether a value is the result of a product, convolution or sigmoid of this body and is
  /// used by a single node. Other operators are excluded, because they can return their operand
  /// itself, and the operand can have more uses.
  [[nodiscard]] bool is_alone(const std::string& name, bool product) const {
    const auto takers = body_->takers.find(name);
    const auto maker = body_->makers.find(name);
    if (takers == body_->takers.end() || takers->second != 1 || maker == body_->makers.end()) {
      return false;
    }
    const std::string& operator_name = body_->nodes[static_cast<int>(maker->second)].op_type();
    return product ? operator_name == "MatMul" || operator_name == "Conv" || operator_name == "Gemm"
                   : operator_name == "Sigmoid";
  }
  /// Returns whether weights are new to the graph, or already belong to `part` or to an earlier
  /// part.
  [[nodiscard]] bool is_asked_before(const tensor& t,
                                     std::vector<graph_part>::const_iterator part) const {
    for (std::size_t w = 0; w < out_->weights.size(); ++w) {
      if (out_->weights[w].source == t.source) {
        return std::any_of(parts_->cbegin(), part + 1, [&](const graph_part& p) {
          return std::find(p.weights.begin(), p.weights.end(), w) != p.weights.end();
        });
      }
    }
    return true;
  }

  /// Returns the node of the graph that computes a value, skipping nodes that only change its
  /// shape.
  [[nodiscard]] graph_node* maker_of(value_id id, std::size_t& number) {
    auto& nodes = out_->calls.nodes();
    for (std::size_t k = nodes.size(); k-- > 0;) {
      if (nodes[k].results[0] == id) {
        if (nodes[k].kernel.as<kernels::reshape>() != nullptr) {
          id = nodes[k].operands[0];
          continue;
        }
        number = k;
        return &nodes[k];
      }
    }
    return nullptr;
  }
  /// Returns whether `bias`, which is broadcast to x, has one number for each element of the last
  /// axis of x in memory.
  [[nodiscard]] static bool is_bias_of(const tensor& x, const tensor& bias) {
    if (bias.rank() > x.rank() || x.stored.empty() || bias.size() != x.stored.back()) {
      return false;
    }
    for (std::size_t k = 0; k < bias.rank(); ++k) {
      const std::size_t axis = x.rank() - bias.rank() + k;
      const bool last = x.axes[axis] == std::vector<std::size_t>{x.stored.size() - 1};
      if (bias.extents[k] != (last ? x.stored.back() : 1)) {
        return false;
      }
    }
    // A tensor with one element must include the last axis in memory.
    const std::size_t first = x.rank() - bias.rank();
    for (std::size_t axis = first; axis < x.rank(); ++axis) {
      if (x.axes[axis] == std::vector<std::size_t>{x.stored.size() - 1}) {
        return true;
      }
    }
    return false;
  }

  const graph_body* body_;
  graph_builder* out_;
  std::vector<graph_part>* parts_;
};

}  // namespace glia::onnx
