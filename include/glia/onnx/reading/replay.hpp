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
  replay(const graph& calls, tape& on) : calls_(&calls), on_(&on), values_(calls.value_count()) {
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
  [[nodiscard]] const glia::tensor& index(std::size_t i) const {
    return values_[node_->operands[i]].index;
  }
  void give(variable y, std::size_t i = 0) { values_[node_->results[i]].real = std::move(y); }
  void give_index(glia::tensor y) { values_[node_->results[0]].index = std::move(y); }

  void apply(const kernels::full& k) { give(on_->constant(on_->device().run(k))); }
  void apply(const kernels::reshape& k) { give(ops::reshape(x(0), k.to)); }
  void apply(const kernels::broadcast_to& k) { give(ops::broadcast_to(x(0), k.to)); }
  void apply(const kernels::sum_to& k) { give(ops::sum_to(x(0), k.to)); }
  void apply(const kernels::concat& k) {
    std::vector<variable> parts;
    for (const value_id id : node_->operands) {
      if (id != no_value) {
        parts.push_back(real(id));
      }
    }
    give(ops::concat(parts, static_cast<std::ptrdiff_t>(k.axis)));
  }
  void apply(const kernels::slice& k) { give(ops::slice(x(0), k)); }
  void apply(const kernels::pad& k) { give(ops::pad(x(0), k)); }
  void apply(const kernels::permute_axes& k) { give(ops::permute(x(0), k.order)); }
  void apply(const kernels::to_index& k) { give_index(on_->device().run(k, x(0).value())); }
  void apply(const kernels::gather&) { give(ops::gather(x(0), index(1))); }
  void apply(const kernels::unary& k) { give(ops::unary(k.map, x(0))); }
  void apply(const kernels::binary& k) {
    switch (k.function) {
      case binary_function::add:
        return give(ops::add(x(0), x(1)));
      case binary_function::multiply:
        return give(ops::multiply(x(0), x(1)));
      case binary_function::divide:
        return give(ops::true_divide(x(0), x(1)));
      case binary_function::maximum:
        return give(ops::maximum(x(0), x(1)));
      case binary_function::minimum:
        return give(ops::minimum(x(0), x(1)));
      default:  // boolean results have no derivative
        give(on_->constant(on_->device().run(k, x(0).value(), x(1).value())));
    }
  }
  void apply(const kernels::select&) { give(ops::where(x(0).value(), x(1), x(2))); }
  void apply(const kernels::matmul& k) { give(ops::matmul(x(0), x(1), k.which)); }
  void apply(const kernels::batched_matmul& k) { give(ops::batched_matmul(x(0), x(1), k.which)); }
  void apply(const kernels::dense&) { give(ops::dense(x(0), x(1), maybe(2))); }
  void apply(const kernels::conv2d& k) {
    give(ops::conv2d(x(0), x(1), maybe(2), k.window, k.groups));
  }
  void apply(const kernels::conv2d_input_gradient& k) {
    give(ops::conv2d_transpose(x(0), x(1), k.window, k.image));
  }
  void apply(const kernels::max_pool2d& k) { give(ops::max_pool2d(x(0), k.window)); }
  void apply(const kernels::avg_pool2d& k) { give(ops::avg_pool2d(x(0), k.window)); }
  void apply(const kernels::normalize& k) {
    auto all = ops::normalize(k.kind, x(0), x(1), x(2), k.epsilon, k.groups);
    give(std::move(all.output));
    give(on_->constant(std::move(all.mean)), 1);
    give(on_->constant(std::move(all.variance)), 2);
  }
  void apply(const kernels::softmax&) { give(ops::softmax(x(0))); }
  void apply(const kernels::one_hot& k) { give(on_->constant(on_->device().run(k, index(0)))); }
  void apply(const kernels::argmax& k) { give_index(on_->device().run(k, x(0).value())); }
  void apply(const kernels::dropout& k) { give(ops::dropout(x(0), k.rate, scope_->next_random())); }
  void apply(const kernels::fake_quantize& k) {
    give(ops::fake_quantize(x(0), x(1).value(), k.range));
  }
  void apply(const kernels::recurrence& k) {
    const auto counts = maybe(4);
    give(ops::recurrence(k.cell, k.backwards, x(0), x(1), maybe(2), glia::tensor{},
                         counts ? counts->value() : glia::tensor{}));
  }

  const graph* calls_;
  tape* on_;
  std::vector<either> values_;
  const graph_node* node_ = nullptr;
  scope* scope_ = nullptr;
};

}  // namespace glia::onnx
