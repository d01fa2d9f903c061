#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/builder.hpp"
#include "glia/onnx/reading/constants.hpp"
#include "glia/onnx/reading/elementwise.hpp"
#include "glia/onnx/reading/extents.hpp"
#include "glia/onnx/reading/function_call.hpp"
#include "glia/onnx/reading/gelu_finder.hpp"
#include "glia/onnx/reading/graph_body.hpp"
#include "glia/onnx/reading/model_content.hpp"
#include "glia/onnx/reading/number_finder.hpp"
#include "glia/onnx/reading/number_limits.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/operation_reader.hpp"
#include "glia/onnx/reading/operator_support.hpp"
#include "glia/onnx/reading/part_recorder.hpp"
#include "glia/onnx/reading/parts.hpp"
#include "glia/onnx/reading/read_result.hpp"
#include "glia/onnx/reading/reshaping.hpp"
#include "glia/onnx/reading/tensor.hpp"
#include "glia/onnx/reading/value_scope.hpp"

namespace glia::onnx {

/// Reads the nodes of a file that the requested outputs need, in the file's order, into a graph of
/// glia's kernels.
class graph_reader {
 public:
  graph_builder out;
  std::vector<graph_part> parts;

  graph_reader(const model_content& content, bool training)
      : content_(&content), training_(training), scope_{content.opset()} {}

  /// Sets the value of an input of the file.
  void give(const std::string& name, tensor value) { scope_.values[name] = std::move(value); }

  /// Reads the nodes that these outputs need. Throws `data_error`, with the operators' names, if
  /// glia has no kernels for some of them.
  void read(const std::vector<std::string>& outputs) {
    body main_body(content_->graph().node(), &content_->graph());
    enter(main_body);
    read_body(main_body, outputs);
  }

  [[nodiscard]] const tensor& result(const std::string& name) const {
    const auto found = scope_.values.find(name);
    require<data_error>(found != scope_.values.end(), "no node of the file computes the output '",
                        name, "'");
    return found->second;
  }

 private:
  using body = graph_body;

  void enter(body& b) {
    // A node counts once for each iteration of its loop and for each call of its function.
    constexpr std::size_t max_nodes = 1 << 20;
    entered_ += static_cast<std::size_t>(b.nodes.size());
    require<data_error>(entered_ <= max_nodes, "expands to more than ", max_nodes,
                        " nodes, the most that glia reads");
    for (const ::onnx::NodeProto& node : b.nodes) {
      if (node.op_type() == "DequantizeLinear" && node.input_size() > 0) {
        dequantized_.insert(node.input(0));
      }
    }
    if (b.graph != nullptr) {
      for (const ::onnx::TensorProto& initializer : b.graph->initializer()) {
        const std::string& name = initializer.name();
        scope_.values[name] =
            reading::stored_weight(initializer, *content_, dequantized_.contains(name));
      }
    }
    const gelu_finder finder(b, scope_.values, *content_);
    for (int i = 0; i < b.nodes.size(); ++i) {
      if (const std::string operand = finder.gelu_in(b.nodes[i]); !operand.empty()) {
        b.gelus.emplace(static_cast<std::size_t>(i), operand);
      }
    }
  }

  void read_body(body& b, const std::vector<std::string>& outputs) {
    const std::vector<bool> needed = b.needed(outputs);
    reading::require_operators(b, needed, *content_);
    const body* const outer = std::exchange(current_body_, &b);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) {
        const ::onnx::NodeProto& node = b.nodes[static_cast<int>(i)];
        out.samples.place = text("the node '", node.name(), "' (", reading::full_name(node), ')');
        const std::size_t first_part = parts.size();
        try {
          read_node(b, i, node);
        } catch (const error& e) {
          throw data_error(
              text("the node '", node.name(), "' (", reading::full_name(node), ") ", e.what()));
        }
        if (outer == nullptr) {
          name_result(node, first_part);
        }
      }
    }
    current_body_ = outer;
  }

  /// Stores the name of a node's first result in the part that computes it. This is one of the
  /// node's own parts, which begin at `first_part`, or an earlier part with which the node was
  /// merged.
  void name_result(const ::onnx::NodeProto& node, std::size_t first_part) {
    const bool is_merged =
        first_part == parts.size() && (node.op_type() == "Add" || node.op_type() == "Mul");
    for (const std::string& name : node.output()) {
      const auto value = scope_.values.find(name);
      if (value == scope_.values.end() || !value->second.computed()) {
        continue;
      }
      for (std::size_t p = parts.size(); p-- > (is_merged ? 0 : first_part);) {
        if (computes(parts[p], value->second.id)) {
          parts[p].result = name;
          return;
        }
      }
    }
  }
  [[nodiscard]] bool computes(const graph_part& part, value_id id) const {
    const std::span nodes(out.calls.nodes());
    const std::span part_nodes = nodes.subspan(part.first, part.end - part.first);
    return std::any_of(part_nodes.begin(), part_nodes.end(), [&](const graph_node& node) {
      return std::find(node.results.begin(), node.results.end(), id) != node.results.end();
    });
  }

  void read_node(const body& b, std::size_t i, const ::onnx::NodeProto& node) {
    constexpr std::size_t max_kernels = 1 << 18;
    require<data_error>(out.calls.nodes().size() <= max_kernels,
                        "exceeds the limit: the file expands to more than ", max_kernels,
                        " kernels");
    if (const auto gelu = b.gelus.find(i); gelu != b.gelus.end()) {
      const tensor x = reading::in_graph(out, scope_.value_of(gelu->second));
      part_recorder recorder(out, parts);
      scope_.values[node.output(0)] =
          graph_builder::with_value(x, out.apply(unary_function::gelu, x.id));
      return recorder.finish("Gelu", "Gelu");
    }
    const std::string& name = node.op_type();
    if (const auto* const function = content_->function(node.domain(), name)) {
      return read_function(node, *function);
    }
    if (name == "Constant") {
      return read_constant(node);
    }
    std::vector<tensor> operands;
    for (const std::string& input : node.input()) {
      operands.push_back(scope_.value_of(input));
    }
    while (!operands.empty() && !operands.back()) {
      operands.pop_back();
    }
    if (name == "Shape" || name == "Size") {
      return read_extents(node, operands);
    }
    if (name == "If") {
      return read_branch(node, operands);
    }
    if (name == "Loop") {
      return read_loop(node, operands);
    }
    read_operation(b, node, std::move(operands));
  }

  void read_operation(const body& b, const ::onnx::NodeProto& node, std::vector<tensor> operands) {
    std::vector<bool> used;
    for (const std::string& output : node.output()) {
      used.push_back(!output.empty() && b.takers.contains(output));
    }
    const operation::numbers_function ask = [&](const std::string& name) {
      return number_finder(b, scope_, limits_).find(name);
    };
    operation n(node, std::move(operands), out, scope_.opset, training_, std::move(used), ask);
    operation_reader(b, parts, limits_).read(n);
    for (std::size_t k = 0; k < n.results.size(); ++k) {
      const std::string& output = node.output(static_cast<int>(k));
      if (n.results[k] && !output.empty()) {
        scope_.values[output] = n.results[k];
      }
    }
  }

  void read_constant(const ::onnx::NodeProto& node) {
    const ::onnx::AttributeProto& a = reading::constant_attribute(node);
    const std::string& name = node.output(0);
    scope_.values[name] = reading::constant_value(a, *content_, dequantized_.contains(name));
  }

  void read_extents(const ::onnx::NodeProto& node, const std::vector<tensor>& operands) {
    tensor value = reading::extents_tensor(node, operands, out);
    scope_.values[node.output(0)] = std::move(value);
  }

  /// Reads the branch that is taken. Its condition must not depend on the samples.
  void read_branch(const ::onnx::NodeProto& node, const std::vector<tensor>& operands) {
    require<data_error>(
        operands.size() == 1 && is_numbers(operands[0]) && operands[0] && operands[0].size() == 1,
        "has a condition that depends on the samples, which glia does not support");
    const double holds = *reading::number_in(operands[0]);
    if (operands[0].beyond != nullptr) {
      out.samples.refuse("has a condition that depends on the batch size");
    }
    const std::string_view branch = holds != 0 ? "then_branch" : "else_branch";
    for (const ::onnx::AttributeProto& a : node.attribute()) {
      if (a.name() == branch && a.has_g()) {
        require<data_error>(++depth_ < graph_body::deepest, "has too many nested branches");
        std::vector<std::string> outputs;
        for (const auto& output : a.g().output()) {
          outputs.push_back(output.name());
        }
        require<data_error>(static_cast<int>(outputs.size()) == node.output_size(),
                            "and its branch have different numbers of results");
        body inner(a.g().node(), &a.g(), current_body_);
        enter(inner);
        read_body(inner, outputs);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          scope_.values[node.output(static_cast<int>(i))] = scope_.value_of(outputs[i]);
        }
        --depth_;
        return;
      }
    }
    throw data_error("does not have the selected branch");
  }

  /// Adds the body of a loop to the graph once for each iteration. The number of iterations must
  /// not depend on the samples.
  void read_loop(const ::onnx::NodeProto& node, const std::vector<tensor>& operands) {
    const ::onnx::AttributeProto* found = nullptr;
    for (const ::onnx::AttributeProto& a : node.attribute()) {
      found = a.name() == "body" && a.has_g() ? &a : found;
    }
    require<data_error>(found != nullptr, "has no body");
    const ::onnx::GraphProto& graph = found->g();
    const std::size_t carried = operands.size() < 2 ? 0 : operands.size() - 2;
    const auto outputs_of_body = static_cast<std::size_t>(graph.output_size());
    require<data_error>(static_cast<std::size_t>(graph.input_size()) == carried + 2 &&
                            outputs_of_body >= carried + 1 &&
                            static_cast<std::size_t>(node.output_size()) == outputs_of_body - 1,
                        "and its body have different numbers of operands or results");
    const auto decided = [&](const tensor& t) {
      if (t.beyond != nullptr) {
        out.samples.refuse("runs a number of times that depends on the batch size");
      }
      require<data_error>(
          is_numbers(t) && t && t.size() == 1,
          "runs a number of times that depends on the samples, which glia does not support");
      return *reading::number_in(t);
    };
    constexpr double max_iterations = 4096;
    const double count = operands.empty() || !operands[0] ? max_iterations : decided(operands[0]);
    bool goes_on = operands.size() < 2 || !operands[1] || decided(operands[1]) != 0;
    require<data_error>(++depth_ < graph_body::deepest, "has too many nested loops");
    std::vector<tensor> state(operands.begin() + std::min<std::ptrdiff_t>(2, std::ssize(operands)),
                              operands.end());
    std::vector<std::vector<tensor>> rows(outputs_of_body - 1 - carried);
    std::vector<std::string> names;
    for (const auto& output : graph.output()) {
      names.push_back(output.name());
    }
    for (double i = 0; goes_on && i < count; ++i) {
      require<data_error>(i < max_iterations, "runs more than ", max_iterations,
                          " times, the most that glia reads");
      scope_.values[graph.input(0).name()] =
          known_tensor(integer_numbers({static_cast<std::int64_t>(i)}, {}));
      scope_.values[graph.input(1).name()] = known_tensor(integer_numbers({1}, {}, reading::truth));
      for (std::size_t k = 0; k < carried; ++k) {
        scope_.values[graph.input(static_cast<int>(k) + 2).name()] = state[k];
      }
      body inner(graph.node(), &graph, current_body_);
      enter(inner);
      read_body(inner, names);
      goes_on = decided(scope_.value_of(names[0])) != 0;
      for (std::size_t k = 0; k < carried; ++k) {
        state[k] = scope_.value_of(names[k + 1]);
      }
      for (std::size_t k = 0; k < rows.size(); ++k) {
        rows[k].push_back(scope_.value_of(names[k + 1 + carried]));
      }
    }
    --depth_;
    part_recorder recorder(out, parts);
    for (std::size_t k = 0; k + 1 < outputs_of_body; ++k) {
      const std::string& name = node.output(static_cast<int>(k));
      if (name.empty()) {
        continue;
      }
      require<data_error>(k < carried || !rows[k - carried].empty(),
                          "never runs, so its collected results have no shape");
      scope_.values[name] = k < carried ? state[k] : reading::stacked(out, rows[k - carried]);
    }
    recorder.finish("Loop", "Loop");
  }

  /// Reads an operator that the file defines as a function. The function has its own scope of
  /// names.
  void read_function(const ::onnx::NodeProto& node, const ::onnx::FunctionProto& function) {
    require<data_error>(++depth_ < graph_body::deepest, "has too many nested functions");
    const body::node_list nodes = reading::function_nodes(function, node);
    value_scope inner{reading::function_opset(function, scope_.opset)};
    for (int i = 0; i < function.input_size(); ++i) {
      inner.values[function.input(i)] =
          i < node.input_size() ? scope_.value_of(node.input(i)) : tensor{};
    }
    value_scope outer = std::exchange(scope_, std::move(inner));
    body b(nodes, nullptr);
    enter(b);
    read_body(b, {function.output().begin(), function.output().end()});
    std::vector<tensor> results;
    for (int i = 0; i < function.output_size() && i < node.output_size(); ++i) {
      results.push_back(scope_.value_of(function.output(i)));
    }
    scope_ = std::move(outer);
    for (std::size_t i = 0; i < results.size(); ++i) {
      scope_.values[node.output(static_cast<int>(i))] = results[i];
    }
    --depth_;
  }

  const model_content* content_;
  bool training_;
  value_scope scope_;
  number_limits limits_;
  std::set<std::string> dequantized_;  // names of quantized weights
  const body* current_body_ = nullptr;
  std::size_t entered_ = 0;
  int depth_ = 0;
};

}  // namespace glia::onnx
