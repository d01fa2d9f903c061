#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "glia/onnx/reading/elementwise.hpp"
#include "glia/onnx/reading/graph_body.hpp"
#include "glia/onnx/reading/model_content.hpp"

namespace glia::onnx {

/// Finds groups of five nodes that exporters write for GELU, which is one function in glia.
class gelu_finder {
 public:
  /// `values` are the weights and other values that are known before the nodes are read.
  gelu_finder(const graph_body& body, const std::map<std::string, tensor>& values,
              const model_content& content)
      : body_(&body), values_(&values), content_(&content) {}

  /// Returns the name of x if a node computes x Phi(x), with Phi(x) = (1 + erf(x / sqrt(2))) / 2,
  /// in any form that exporters write. Empty for other nodes.
  [[nodiscard]] std::string gelu_in(const ::onnx::NodeProto& node) const {
    if (node.op_type() != "Mul" || node.input_size() != 2 || node.output_size() != 1) {
      return "";
    }
    // Returns x if `name` is 1 + erf(x / sqrt(2)), otherwise an empty name.
    const auto twice = [&](const std::string& name) -> std::string {
      const auto* const sum = maker(name, "Add");
      const auto* const error = sum == nullptr ? nullptr : maker(other_operand(*sum, 1), "Erf");
      if (error == nullptr || error->input_size() != 1) {
        return "";
      }
      if (const auto* const scaled = maker(error->input(0), "Div")) {
        return other_operand(*scaled, std::numbers::sqrt2, true);
      }
      const auto* const scaled = maker(error->input(0), "Mul");
      return scaled == nullptr ? "" : other_operand(*scaled, 1 / std::numbers::sqrt2);
    };
    // Returns y if `name` is y / 2, otherwise an empty name.
    const auto half = [&](const std::string& name) -> std::string {
      const auto* const product = maker(name, "Mul");
      return product == nullptr ? "" : other_operand(*product, 0.5);
    };
    for (const int i : {0, 1}) {
      const std::string& operand = node.input(i);
      const std::string& other = node.input(1 - i);
      // The form (x / 2) (1 + erf).
      if (std::string x = twice(other); !x.empty() && half(operand) == x) {
        return x;
      }
      // The form x ((1 + erf) / 2).
      if (const std::string sum = half(other); !sum.empty() && twice(sum) == operand) {
        return operand;
      }
    }
    // The form (x (1 + erf)) / 2.
    const auto* const product = maker(other_operand(node, 0.5), "Mul");
    for (int i = 0; product != nullptr && product->input_size() == 2 && i < 2; ++i) {
      if (twice(product->input(1 - i)) == product->input(i)) {
        return product->input(i);
      }
    }
    return "";
  }

 private:
  [[nodiscard]] const ::onnx::NodeProto* maker(const std::string& name,
                                               std::string_view operation) const {
    const auto found = body_->makers.find(name);
    if (found == body_->makers.end()) {
      return nullptr;
    }
    const ::onnx::NodeProto& node = body_->nodes[static_cast<int>(found->second)];
    return node.op_type() == operation && node.output_size() == 1 ? &node : nullptr;
  }
  /// Returns the name of the other operand if one operand is this number, in single precision.
  /// Returns an empty name otherwise.
  [[nodiscard]] std::string other_operand(const ::onnx::NodeProto& node, double number,
                                          bool second_only = false) const {
    for (int i = second_only ? 1 : 0; node.input_size() == 2 && i < 2; ++i) {
      const auto value = values_->find(node.input(i));
      std::optional<double> scalar;
      if (value != values_->end()) {
        scalar = reading::number_in(value->second);
      } else if (const auto* const constant = maker(node.input(i), "Constant")) {
        if (constant->attribute_size() == 1) {
          const auto& a = constant->attribute(0);
          if (a.name() == "value_float") {
            scalar = a.f();
          } else if (const weight* const w = a.has_t() ? content_->weight_of(a.t()) : nullptr;
                     w != nullptr && count_of(extents_of(a.t())) == 1) {
            scalar = numbers_of(w->data).at(0);
          }
        }
      }
      if (scalar && std::abs(*scalar - number) <= 1e-6 * number) {
        return node.input(1 - i);
      }
    }
    return "";
  }

  const graph_body* body_;
  const std::map<std::string, tensor>* values_;
  const model_content* content_;
};

}  // namespace glia::onnx
