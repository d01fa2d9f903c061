#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/graph/graph.hpp"
#include "glia/layers/recurrence.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/adjoint_call.hpp"
#include "glia/ops/ops.hpp"

namespace glia::onnx {

/// The kernels of graphs that are read from files.
using read_kernels =
    kernel_list<kernels::full, kernels::reshape, kernels::broadcast_to, kernels::sum_to,
                kernels::concat, kernels::slice, kernels::pad, kernels::permute_axes,
                kernels::to_index, kernels::gather, kernels::unary, kernels::binary,
                kernels::select, kernels::matmul, kernels::batched_matmul, kernels::dense,
                kernels::conv2d, kernels::conv2d_input_gradient, kernels::max_pool2d,
                kernels::avg_pool2d, kernels::normalize, kernels::softmax, kernels::one_hot,
                kernels::argmax, kernels::dropout, kernels::recurrence, kernels::fake_quantize>;

/// Runs the nodes of a graph as differentiable ops.
class replay {
 public:
  replay(const graph& calls, tape& on) : on_(&on), values_(calls.value_count()) {
    const glia::device& device = on.device();
    for (const graph_constant& one : calls.constants()) {
      const shape& s = calls.spec(one.value).shape;
      std::visit(
          [&](const auto& all) {
            using T = typename std::remove_cvref_t<decltype(all)>::value_type;
            glia::tensor value = device.from_host(std::span<const T>(all), s);
            if constexpr (std::is_same_v<T, double>) {
              values_[one.value].real = on.constant(std::move(value));
            } else {
              values_[one.value].index = std::move(value);
            }
          },
          one.elements);
    }
  }

  void set(value_id id, variable value) { values_[id].real = std::move(value); }
  [[nodiscard]] const variable& real(value_id id) const {
    require<value_error>(is_real(id), "onnx: a value is used before it is computed");
    return *values_[id].real;
  }
  [[nodiscard]] bool is_real(value_id id) const { return values_[id].real.has_value(); }

  /// Runs one node. `s` provides random numbers.
  void run(const graph_node& node, scope& s) {
    node_ = &node;
    scope_ = &s;
    const bool known = visit_kernel(node.kernel, read_kernels{}, [&](const auto& k) { apply(k); });
    require<value_error>(known, "onnx: no op for the kernel '", node.kernel.name(), "'");
  }

 private:
  struct either {
    std::optional<variable> real;
    glia::tensor index{};
  };

  [[nodiscard]] const variable& x(std::size_t i) const { return real(node_->operands[i]); }
  [[nodiscard]] std::optional<variable> maybe(std::size_t i) const {
    return node_->operands[i] == no_value ? std::nullopt : std::optional(x(i));
  }
  void give(variable y, std::size_t i = 0) { values_[node_->results[i]].real = std::move(y); }

  /// Returns an operand as a variable, as integers, or as omitted.
  [[nodiscard]] call_operand operand(std::size_t i) const {
    const value_id id = node_->operands[i];
    if (id == no_value) {
      return glia::tensor{};
    }
    return is_real(id) ? call_operand(real(id)) : call_operand(values_[id].index);
  }
  void give_tensor(glia::tensor y, std::size_t i) {
    if (node_->results[i] == no_value) {
      return;
    }
    if (y && y.type() == element::real) {
      give(on_->constant(std::move(y)), i);
    } else if (y) {
      values_[node_->results[i]].index = std::move(y);
    }
  }

  template <kernel K>
  void apply(const K& k) {
    auto results = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ops::call_kernel(*on_, k, {operand(I)...});
    }
    (std::make_index_sequence<K::operands>{});
    if (results.first.value().type() == element::real) {
      give(std::move(results.first));
    } else {
      give_tensor(std::move(results.first).value(), 0);
    }
    for (std::size_t i = 1; i < K::results; ++i) {
      give_tensor(std::move(results.others[i - 1]), i);
    }
  }
  // Ops that are more than a kernel.
  void apply(const kernels::unary& k) { give(ops::unary(k.map, x(0))); }
  void apply(const kernels::concat& k) {
    std::vector<variable> parts;
    for (const value_id id : node_->operands) {
      if (id != no_value) {
        parts.push_back(real(id));
      }
    }
    give(ops::concat(parts, static_cast<std::ptrdiff_t>(k.axis)));
  }
  void apply(const kernels::dropout& k) { give(ops::dropout(x(0), k.rate, scope_->next_random())); }
  void apply(const kernels::fake_quantize& k) {
    give(ops::fake_quantize(x(0), x(1).value(), k.range));
  }
  void apply(const kernels::recurrence& k) {
    const auto counts = maybe(4);
    give(ops::recurrence(k.cell, k.backwards, x(0), x(1), maybe(2), glia::tensor{},
                         counts ? counts->value() : glia::tensor{}));
  }

  tape* on_;
  std::vector<either> values_;
  const graph_node* node_ = nullptr;
  scope* scope_ = nullptr;
};

}  // namespace glia::onnx
