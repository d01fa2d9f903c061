#pragma once

#include <array>
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
#include "glia/ops/call.hpp"
#include "glia/ops/ops.hpp"

namespace glia::onnx {

/// Runs the nodes of a graph as differentiable ops.
class replay {
 public:
  replay(const graph& calls, tape& gradient_tape)
      : tape_(&gradient_tape), values_(calls.value_count()) {
    const glia::device& device = gradient_tape.device();
    for (const graph_constant& constant : calls.constants()) {
      const shape& s = calls.spec(constant.value).shape;
      std::visit(
          [&](const auto& elements) {
            using T = typename std::remove_cvref_t<decltype(elements)>::value_type;
            glia::tensor value = device.from_host(std::span<const T>(elements), s);
            if constexpr (std::is_same_v<T, double>) {
              values_[constant.value].real = gradient_tape.constant(std::move(value));
            } else {
              values_[constant.value].index = std::move(value);
            }
          },
          constant.elements);
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
    const any_kernel& k = node.kernel;
    if (const auto* const function = k.as<kernels::unary>()) {
      give(ops::unary(function->map, x(0)));
    } else if (const auto* const dropout = k.as<kernels::dropout>()) {
      give(ops::dropout(x(0), dropout->rate, s.next_random()));
    } else if (const auto* const recurrence = k.as<kernels::recurrence>()) {
      const auto counts = maybe(4);
      give(ops::recurrence(recurrence->cell, recurrence->backwards, x(0), x(1), maybe(2),
                           glia::tensor{}, counts ? counts->value() : glia::tensor{}));
    } else {
      call(k);
    }
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
      give(tape_->constant(std::move(y)), i);
    } else if (y) {
      values_[node_->results[i]].index = std::move(y);
    }
  }

  void call(const any_kernel& k) {
    std::array<glia::tensor, most_operands> operands;
    std::array<gradient_slot, most_operands> slots;
    std::array<glia::tensor, most_results> results;
    const std::size_t operand_count = k.type().operands;
    const std::size_t result_count = k.type().results;
    for (std::size_t i = 0; i < operand_count; ++i) {
      call_operand argument = operand(i);
      operands[i] = std::move(argument.value);
      slots[i] = argument.slot;
    }
    const gradient_slot slot =
        tape_->call(k.type(), k.value(), std::span(operands).first(operand_count),
                    std::span(slots).first(operand_count), std::span(results).first(result_count));
    const bool real = results[0].type() == element::real;
    if (real) {
      give({*tape_, std::move(results[0]), slot});
    }
    for (std::size_t i = real ? 1 : 0; i < result_count; ++i) {
      give_tensor(std::move(results[i]), i);
    }
  }

  tape* tape_;
  std::vector<either> values_;
  const graph_node* node_ = nullptr;
};

}  // namespace glia::onnx
