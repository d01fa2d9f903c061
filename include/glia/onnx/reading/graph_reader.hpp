#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/fold.hpp"
#include "glia/onnx/reading/gelu_finder.hpp"
#include "glia/onnx/reading/graph_body.hpp"
#include "glia/onnx/reading/joined_nodes.hpp"
#include "glia/onnx/reading/model_content.hpp"
#include "glia/onnx/reading/operators.hpp"
#include "glia/onnx/reading/sample_rules.hpp"

namespace glia::onnx {

/// Reads the nodes of a file that the requested outputs need, in the file's order, into a graph of
/// glia's kernels.
class graph_reader {
 public:
  graph_builder out;
  std::vector<graph_part> parts;

  graph_reader(const model_content& content, bool training)
      : content_(&content), training_(training) {}

  /// Sets the value of an input of the file.
  void give(const std::string& name, tensor value) { values_[name] = std::move(value); }

  /// Reads the nodes that these outputs need. Throws `data_error`, with the operators' names, if
  /// glia has no kernels for some of them.
  void read(const std::vector<std::string>& outputs) {
    body main_body(content_->graph().node(), &content_->graph());
    enter(main_body);
    read_body(main_body, outputs);
  }

  [[nodiscard]] const tensor& result(const std::string& name) const {
    const auto found = values_.find(name);
    require<data_error>(found != values_.end(), "the file has no tensor named '", name,
                        "'; use the name of a tensor in the file, which summary() does not show: ",
                        found == values_.end() ? computed_names() : "");
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
        take_weight(initializer.name(), initializer);
      }
    }
    const gelu_finder finder(b, values_, *content_);
    for (int i = 0; i < b.nodes.size(); ++i) {
      if (const std::string operand = finder.gelu_in(b.nodes[i]); !operand.empty()) {
        b.gelus.emplace(static_cast<std::size_t>(i), operand);
      }
    }
  }

  /// Stores the value of a weight. Integer weights become known numbers, unless they are quantized.
  void take_weight(const std::string& name, const ::onnx::TensorProto& message) {
    const weight* const w = content_->weight_of(message);  // null for a copied tensor
    const bool of_weights = is_real(message.data_type()) || dequantized_.contains(name);
    values_.insert_or_assign(
        name, w != nullptr && of_weights
                  ? weight_tensor(*w)
                  : known_tensor(numbers_of(w == nullptr ? tensor_data{&message, {}} : w->data)));
  }

  [[nodiscard]] bool is_known_operator(const ::onnx::NodeProto& node) const {
    if (content_->function(node.domain(), node.op_type()) != nullptr) {
      return true;
    }
    if (!node.domain().empty() && node.domain() != "ai.onnx") {
      return false;
    }
    const std::string& name = node.op_type();
    return name == "Constant" || name == "Shape" || name == "Size" || name == "If" ||
           name == "Loop" || reading::reader_of(name) != nullptr ||
           reading::folding::function_of(name) != nullptr;
  }

  void require_operators(const body& b, const std::vector<bool>& needed) const {
    const ::onnx::NodeProto* first = nullptr;
    std::set<std::string> missing;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const ::onnx::NodeProto& node = b.nodes[static_cast<int>(i)];
      if (needed[i] && !is_known_operator(node)) {
        first = first == nullptr ? &node : first;
        missing.insert(full_name(node));
      }
    }
    if (first == nullptr) {
      return;
    }
    missing.erase(full_name(*first));
    std::string other_names;
    for (const std::string& name : missing) {
      other_names += text(other_names.empty() ? "" : ", ", name);
    }
    throw data_error(text("glia does not support the operator '", full_name(*first), "' (opset ",
                          content_->opset(), ") of the node '", first->name(), "'",
                          other_names.empty()
                              ? std::string()
                              : text("; ", missing.size(),
                                     " other operators are not supported either: ", other_names)));
  }
  [[nodiscard]] static std::string full_name(const ::onnx::NodeProto& node) {
    return node.domain().empty() ? node.op_type() : text(node.domain(), '.', node.op_type());
  }

  void read_body(body& b, const std::vector<std::string>& outputs) {
    const std::vector<bool> needed = b.needed(outputs);
    require_operators(b, needed);
    const body* const outer = std::exchange(current_body_, &b);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) {
        const ::onnx::NodeProto& node = b.nodes[static_cast<int>(i)];
        out.samples.place = text("the node '", node.name(), "' (", full_name(node), ')');
        try {
          read_node(b, i, node);
        } catch (const error& e) {
          throw data_error(text("the node '", node.name(), "' (", full_name(node), ") ", e.what()));
        }
      }
    }
    current_body_ = outer;
  }

  /// Returns the names of the first tensors that nodes of the file compute, for a message.
  [[nodiscard]] std::string computed_names() const {
    constexpr std::size_t max_names = 10;
    std::size_t count = 0;
    std::string result;
    for (const ::onnx::NodeProto& node : content_->graph().node()) {
      for (const std::string& name : node.output()) {
        if (!name.empty() && node.op_type() != "Constant" && ++count <= max_names) {
          result += text(count == 1 ? "'" : ", '", name, '\'');
        }
      }
    }
    return count > max_names ? text(result, " and ", count - max_names, " more") : result;
  }

  [[nodiscard]] tensor value_of(const std::string& name) const {
    if (name.empty()) {
      return {};
    }
    const auto found = values_.find(name);
    require<data_error>(found != values_.end(), "has the input '", name,
                        "', which no earlier node computes");
    return found->second;
  }

  void read_node(const body& b, std::size_t i, const ::onnx::NodeProto& node) {
    constexpr std::size_t max_kernels = 1 << 18;
    require<data_error>(out.calls.nodes().size() <= max_kernels,
                        "exceeds the limit: the file expands to more than ", max_kernels,
                        " kernels");
    if (const auto gelu = b.gelus.find(i); gelu != b.gelus.end()) {
      const tensor x = reading::in_graph(out, value_of(gelu->second));
      const started begin = start();
      values_[node.output(0)] = graph_builder::with_value(x, out.apply(unary_function::gelu, x.id));
      return finish(begin, "Gelu", "Gelu");
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
      operands.push_back(value_of(input));
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
    const std::vector<tensor> results = compute(b, node, std::move(operands));
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::string& output = node.output(static_cast<int>(k));
      if (results[k] && !output.empty()) {
        values_[output] = results[k];
      }
    }
  }

  /// Returns whether a value consists of known numbers. Results that are computed only from known
  /// numbers are known numbers, too.
  [[nodiscard]] static bool is_numbers(const tensor& t) {
    return !t || t.known != nullptr || (t.source != nullptr && t.size() <= 1);
  }

  [[nodiscard]] std::vector<tensor> compute(const body& b, const ::onnx::NodeProto& node,
                                            std::vector<tensor> operands) {
    const std::string& name = node.op_type();
    broadcast_as_of_old(node, operands);
    const bool numbers_only = std::all_of(operands.begin(), operands.end(), is_numbers);
    std::vector<bool> used;
    for (const std::string& output : node.output()) {
      used.push_back(!output.empty() && b.takers.contains(output));
    }
    const operation::numbers_function ask = [&](const std::string& value_name) {
      return known_numbers(b, value_name, 0);
    };
    const std::vector<tensor> inputs = operands;
    operation n(node, std::move(operands), out, opset_, training_, std::move(used), ask);
    const auto function = reading::folding::function_of(name);
    const auto reader = reading::reader_of(name);
    if (function != nullptr && numbers_only) {
      function(n);
    } else {
      require<data_error>(reader != nullptr,
                          "depends on the samples, and glia has no kernel for it");
      if (const std::string why = reading::crossing(n); !why.empty()) {
        out.samples.refuse(why);
      }
      if (!joined_nodes(b, out, parts).joins(n)) {
        const started begin = start();
        reader(n);
        if (out.samples.samples == 1 && !inputs.empty() && !n.results.empty()) {
          keep_sample(n, inputs[0]);
        }
        finish(begin, name, described(n));
      }
    }
    count_known(n);
    if (!n.results.empty() && std::any_of(inputs.begin(), inputs.end(),
                                          [](const tensor& t) { return t.beyond != nullptr; })) {
      // The result of known numbers and a single weight is not always converted to known numbers.
      const bool gives_numbers = std::all_of(n.results.begin(), n.results.end(),
                                             [](const tensor& t) { return !t || t.known; });
      numbers_only&& gives_numbers ? look_beyond(node, inputs, n.results)
                                   : require_same_beyond(node, inputs, n.results);
    }
    return std::move(n.results);
  }

  /// Marks the batch axis of the result if the batch has one sample and the operation keeps this
  /// axis of its operand. The shape of the result does not show which axis of extent 1 is the batch
  /// axis.
  void keep_sample(operation& n, const tensor& x) {
    tensor& y = n.results[0];
    for (std::size_t axis = 0; axis < x.rank() && y.computed(); ++axis) {
      if (!out.has_samples(x, axis)) {
        continue;
      }
      if (const auto new_axis = reading::kept_axis(n, x, axis); new_axis && *new_axis < y.rank()) {
        y = out.with_sample_at(y, *new_axis);
      }
      return;
    }
  }

  /// Computes the known numbers of a node again, for a batch with one more sample, to find the
  /// numbers that depend on the batch size.
  void look_beyond(const ::onnx::NodeProto& node, std::vector<tensor> operands,
                   std::vector<tensor>& results) {
    for (tensor& t : operands) {
      if (t.beyond != nullptr) {
        t = known_tensor(*t.beyond);
      }
    }
    graph_builder scratch;
    const operation::numbers_function no_numbers = [](const std::string&) {
      return std::optional<numbers>();
    };
    operation n(node, std::move(operands), scratch, opset_, false, {}, no_numbers);
    const auto function = reading::folding::function_of(node.op_type());
    try {
      function != nullptr ? function(n) : reading::reader_of(node.op_type())(n);
    } catch (const error&) {
      return out.samples.refuse("is only possible for this number of samples");
    }
    count_known(n);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].known != nullptr && n.results[i].known != nullptr) {
        note_beyond(results[i], *n.results[i].known);
      } else if (results[i]) {
        out.samples.refuse("uses a number that depends on the batch size");
      }
    }
  }
  /// `beyond` are the numbers that t would have for a batch with one more sample. Stores them if
  /// they differ from t.known.
  static void note_beyond(tensor& t, const numbers& beyond) {
    if (t.known->extents != beyond.extents || t.known->elements != beyond.elements) {
      t.beyond = std::make_shared<const numbers>(beyond);
    }
  }

  /// Checks that numbers that depend on the batch size are used only as extents of axes that
  /// contain samples.
  void require_same_beyond(const ::onnx::NodeProto& node, const std::vector<tensor>& operands,
                           const std::vector<tensor>& results) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].beyond != nullptr &&
          !reading::says_extents(out, node.op_type(), i, operands, results[0])) {
        return out.samples.refuse("uses a number that depends on the batch size");
      }
    }
  }

  /// Limits the memory and time for numbers that do not depend on samples.
  void count_known(const operation& n) const {
    constexpr std::size_t max_results = 4 * numbers::max_size;
    constexpr std::size_t max_operands = 64 * max_results;
    for (const tensor& t : n.results) {
      known_elements_ += t.known != nullptr ? t.size() + 1 : 1;
    }
    for (const tensor& t : n.x) {
      operand_elements_ += t.known != nullptr ? t.size() + 1 : 1;
    }
    require<data_error>(known_elements_ <= max_results && operand_elements_ <= max_operands,
                        "exceeds the limit for numbers that do not depend on the samples: ",
                        max_results, " results or ", max_operands, " operands");
  }

  /// Reshapes the second operand for opsets up to 6. There, an attribute gives the axes of the
  /// operand, and the slopes of PRelu are along the channels.
  void broadcast_as_of_old(const ::onnx::NodeProto& node, std::vector<tensor>& operands) {
    if (opset_ >= 7 || operands.size() != 2 || !operands[0] || !operands[1]) {
      return;
    }
    const std::size_t rank = operands[0].rank();
    std::int64_t axis = node.op_type() == "PRelu" && operands[1].rank() == 1 && rank > 1 ? 1 : -1;
    const auto attribute = [&](std::string_view name, std::int64_t otherwise) {
      for (const ::onnx::AttributeProto& a : node.attribute()) {
        otherwise = a.name() == name ? a.i() : otherwise;
      }
      return otherwise;
    };
    if (attribute("broadcast", 0) != 0) {
      axis = attribute("axis", axis);
    }
    if (axis < 0 || static_cast<std::size_t>(axis) + operands[1].rank() >= rank) {
      return;
    }
    dims extents = operands[1].extents;
    extents.resize(rank - static_cast<std::size_t>(axis), 1);
    operands[1] = reading::reshaped(out, operands[1], extents);
  }

  struct started {
    std::size_t node;
    std::size_t weights;
  };
  [[nodiscard]] started start() const { return {out.calls.nodes().size(), out.weights.size()}; }
  void finish(const started& begin, const std::string& operation, const std::string& description) {
    if (out.calls.nodes().size() == begin.node && out.weights.size() == begin.weights) {
      return;
    }
    graph_part part{operation, description, begin.node, out.calls.nodes().size(), {}};
    for (std::size_t w = begin.weights; w < out.weights.size(); ++w) {
      part.weights.push_back(w);
    }
    parts.push_back(std::move(part));
  }

  [[nodiscard]] static std::string described(const operation& n) {
    std::string result = n.node.op_type();
    if (const auto size = n.integers("kernel_shape")) {
      for (std::size_t i = 0; i < size->size(); ++i) {
        result += text(i == 0 ? " " : "x", (*size)[i]);
      }
    }
    return result;
  }

  void read_constant(const ::onnx::NodeProto& node) {
    require<data_error>(node.output_size() == 1 && node.attribute_size() == 1,
                        "is a constant with ", node.attribute_size(),
                        " values; expected one value");
    const ::onnx::AttributeProto& a = node.attribute(0);
    const std::string& name = node.output(0);
    tensor& value = values_[name];
    if (a.name() == "value" && a.has_t()) {
      const weight* const w = content_->weight_of(a.t());  // null for a copied tensor
      if (w != nullptr && content_->weights_are_constants()) {
        return take_weight(name, a.t());
      }
      value = known_tensor(numbers_of(w == nullptr ? tensor_data{&a.t(), {}} : w->data));
      return;
    }
    if (a.name() == "value_int") {
      value = known_tensor(integer_numbers({a.i()}, {}));
    } else if (a.name() == "value_ints") {
      const std::vector<std::int64_t> elements(a.ints().begin(), a.ints().end());
      value = known_tensor(integer_numbers(elements, {elements.size()}));
    } else if (a.name() == "value_float") {
      value = known_tensor(real_numbers({a.f()}, {}));
    } else if (a.name() == "value_floats") {
      const std::vector<double> elements(a.floats().begin(), a.floats().end());
      value = known_tensor(real_numbers(elements, {elements.size()}));
    } else {
      throw data_error(text("is a constant of the unsupported kind '", a.name(), "'"));
    }
  }

  void read_extents(const ::onnx::NodeProto& node, const std::vector<tensor>& operands) {
    require<data_error>(operands.size() == 1 && node.output_size() == 1, "expected one operand");
    const dims& s = operands[0].extents;
    const dims beyond = reading::extents_beyond(out, operands[0]);
    if (node.op_type() == "Size") {
      tensor& value = values_[node.output(0)];
      value = known_tensor(integer_numbers({static_cast<std::int64_t>(operands[0].size())}, {}));
      note_beyond(value, integer_numbers({static_cast<std::int64_t>(count_of(beyond))}, {}));
      return;
    }
    const auto rank = static_cast<std::int64_t>(s.size());
    std::int64_t begin = 0;
    std::int64_t end = rank;
    for (const ::onnx::AttributeProto& a : node.attribute()) {
      const std::int64_t position =
          std::clamp<std::int64_t>(a.i() < 0 ? a.i() + rank : a.i(), 0, rank);
      (a.name() == "start" ? begin : end) = position;
    }
    const auto select = [&](const dims& extents) {
      std::vector<std::int64_t> elements;
      for (std::int64_t i = begin; i < end; ++i) {
        elements.push_back(static_cast<std::int64_t>(extents[static_cast<std::size_t>(i)]));
      }
      const std::size_t count = elements.size();
      return integer_numbers(std::move(elements), {count});
    };
    tensor& value = values_[node.output(0)];
    value = known_tensor(select(s));
    note_beyond(value, select(beyond));
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
          values_[node.output(static_cast<int>(i))] = value_of(outputs[i]);
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
      values_[graph.input(0).name()] =
          known_tensor(integer_numbers({static_cast<std::int64_t>(i)}, {}));
      values_[graph.input(1).name()] = known_tensor(integer_numbers({1}, {}, reading::truth));
      for (std::size_t k = 0; k < carried; ++k) {
        values_[graph.input(static_cast<int>(k) + 2).name()] = state[k];
      }
      body inner(graph.node(), &graph, current_body_);
      enter(inner);
      read_body(inner, names);
      goes_on = decided(value_of(names[0])) != 0;
      for (std::size_t k = 0; k < carried; ++k) {
        state[k] = value_of(names[k + 1]);
      }
      for (std::size_t k = 0; k < rows.size(); ++k) {
        rows[k].push_back(value_of(names[k + 1 + carried]));
      }
    }
    --depth_;
    const started begin = start();
    for (std::size_t k = 0; k + 1 < outputs_of_body; ++k) {
      const std::string& name = node.output(static_cast<int>(k));
      if (name.empty()) {
        continue;
      }
      require<data_error>(k < carried || !rows[k - carried].empty(),
                          "never runs, so its collected results have no shape");
      values_[name] = k < carried ? state[k] : reading::stacked(out, rows[k - carried]);
    }
    finish(begin, "Loop", "Loop");
  }

  /// Reads an operator that the file defines as a function. The function has its own scope of
  /// names.
  void read_function(const ::onnx::NodeProto& node, const ::onnx::FunctionProto& function) {
    require<data_error>(++depth_ < graph_body::deepest, "has too many nested functions");
    require<data_error>(
        function.unknown_fields().empty(),
        "is a function whose attributes have defaults, which glia does not support");
    std::map<std::string, tensor> inner;
    for (int i = 0; i < function.input_size(); ++i) {
      inner[function.input(i)] = i < node.input_size() ? value_of(node.input(i)) : tensor{};
    }
    // A copy of the function's nodes, with the values of the attributes.
    ::onnx::GraphProto copy;
    *copy.mutable_node() = function.node();
    for (::onnx::NodeProto& copied_node : *copy.mutable_node()) {
      fill_in(copied_node, node);
    }
    std::int64_t opset = opset_;
    for (const auto& opset_id : function.opset_import()) {
      if (opset_id.domain().empty() || opset_id.domain() == "ai.onnx") {
        opset = opset_id.version();
      }
    }
    const std::int64_t outer_opset = std::exchange(opset_, opset);
    values_.swap(inner);
    body b(copy.node(), nullptr);
    enter(b);
    read_body(b, {function.output().begin(), function.output().end()});
    std::vector<tensor> results;
    for (int i = 0; i < function.output_size() && i < node.output_size(); ++i) {
      results.push_back(value_of(function.output(i)));
    }
    opset_ = outer_opset;
    values_.swap(inner);
    for (std::size_t i = 0; i < results.size(); ++i) {
      values_[node.output(static_cast<int>(i))] = results[i];
    }
    --depth_;
  }

  /// Replaces references to attributes of the function by the values in the call.
  static void fill_in(::onnx::NodeProto& node, const ::onnx::NodeProto& call) {
    for (int k = node.attribute_size(); k-- > 0;) {
      ::onnx::AttributeProto& a = *node.mutable_attribute(k);
      if (a.has_g()) {
        for (::onnx::NodeProto& inner : *a.mutable_g()->mutable_node()) {
          fill_in(inner, call);
        }
      }
      if (a.ref_attr_name().empty()) {
        continue;
      }
      const auto argument =
          std::find_if(call.attribute().begin(), call.attribute().end(),
                       [&](const auto& other) { return other.name() == a.ref_attr_name(); });
      if (argument == call.attribute().end()) {
        node.mutable_attribute()->DeleteSubrange(k, 1);
        continue;
      }
      const std::string called = a.name();
      a = *argument;
      a.set_name(called);
    }
  }

  /// Returns the numbers of a value that does not depend on samples. The value can depend on
  /// weights.
  [[nodiscard]] std::optional<numbers> known_numbers(const body& b, const std::string& name,
                                                     int depth) const {
    const auto value = values_.find(name);
    if (value != values_.end() && value->second.known != nullptr) {
      return *value->second.known;
    }
    if (value != values_.end() && value->second.source != nullptr &&
        value->second.stored == extents_of(*value->second.source->data.message) &&
        value->second.axes == plain_layout(value->second.rank())) {
      return numbers_of(*value->second.source);
    }
    const auto maker = b.makers.find(name);
    if (maker == b.makers.end()) {
      return b.outer != nullptr ? known_numbers(*b.outer, name, depth) : std::nullopt;
    }
    const ::onnx::NodeProto& node = b.nodes[static_cast<int>(maker->second)];
    if (depth == graph_body::deepest) {
      return std::nullopt;
    }
    std::vector<tensor> operands;
    for (const std::string& input : node.input()) {
      if (input.empty()) {
        operands.emplace_back();
        continue;
      }
      auto numbers = known_numbers(b, input, depth + 1);
      if (!numbers) {
        return std::nullopt;
      }
      operands.push_back(known_tensor(*std::move(numbers)));
    }
    const auto fold = reading::folding::function_of(node.op_type());
    const auto read = fold != nullptr ? fold : reading::reader_of(node.op_type());
    if (read == nullptr) {
      return std::nullopt;
    }
    graph_builder scratch;
    const operation::numbers_function no_numbers = [](const std::string&) {
      return std::optional<numbers>();
    };
    operation n(node, std::move(operands), scratch, opset_, false, {}, no_numbers);
    read(n);
    count_known(n);
    for (int i = 0; i < node.output_size(); ++i) {
      const tensor& t = n.results[static_cast<std::size_t>(i)];
      if (node.output(i) == name && t.known != nullptr) {
        return *t.known;
      }
    }
    return std::nullopt;
  }

  const model_content* content_;
  bool training_;
  std::int64_t opset_ = content_->opset();
  std::map<std::string, tensor> values_;
  std::set<std::string> dequantized_;  // names of quantized weights
  const body* current_body_ = nullptr;
  std::size_t entered_ = 0;
  mutable std::size_t known_elements_ = 0;
  mutable std::size_t operand_elements_ = 0;
  int depth_ = 0;
};

}  // namespace glia::onnx
