#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/builder.hpp"
#include "glia/onnx/reading/fold.hpp"
#include "glia/onnx/reading/graph_body.hpp"
#include "glia/onnx/reading/number_limits.hpp"
#include "glia/onnx/reading/operation.hpp"
#include "glia/onnx/reading/operators.hpp"
#include "glia/onnx/reading/value_scope.hpp"

namespace glia::onnx {

/// Finds the numbers of values that do not depend on samples. The values can depend on weights.
class number_finder {
 public:
  number_finder(const graph_body& body, const value_scope& scope, number_limits& limits)
      : body_(&body), scope_(&scope), limits_(&limits) {}

  /// Returns the numbers of a value. Computes them, if necessary, from the operands of the value's
  /// node. Returns nothing if the value depends on samples.
  [[nodiscard]] std::optional<numbers> find(const std::string& name) const {
    return find(*body_, name, 0);
  }

 private:
  [[nodiscard]] std::optional<numbers> find(const graph_body& b, const std::string& name,
                                            int depth) const {
    const auto value = scope_->values.find(name);
    if (value != scope_->values.end() && value->second.known != nullptr) {
      return *value->second.known;
    }
    if (value != scope_->values.end() && value->second.source != nullptr &&
        value->second.stored == extents_of(*value->second.source->data.message) &&
        value->second.axes == plain_layout(value->second.rank())) {
      return numbers_of(*value->second.source);
    }
    const auto maker = b.makers.find(name);
    if (maker == b.makers.end()) {
      return b.outer != nullptr ? find(*b.outer, name, depth) : std::nullopt;
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
      auto numbers = find(b, input, depth + 1);
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
    operation n(node, std::move(operands), scratch, scope_->opset, false, {}, no_numbers);
    read(n);
    limits_->count(n);
    for (int i = 0; i < node.output_size(); ++i) {
      const tensor& t = n.results[static_cast<std::size_t>(i)];
      if (node.output(i) == name && t.known != nullptr) {
        return *t.known;
      }
    }
    return std::nullopt;
  }

  const graph_body* body_;
  const value_scope* scope_;
  number_limits* limits_;
};

}  // namespace glia::onnx
