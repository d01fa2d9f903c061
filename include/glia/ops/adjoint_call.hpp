#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "glia/kernels/kernels.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// An operand of a kernel call on a tape: a variable, or a tensor, which gets no gradient. An empty
/// tensor stands for an omitted operand.
struct call_operand {
  tensor value;
  gradient_slot slot = {};

  call_operand(tensor x) : value(std::move(x)) {}
  call_operand(const variable& x) : value(x.value()), slot(x.slot()) {}
  call_operand(variable&& x) : slot(x.slot()) { value = std::move(x).value(); }
  call_operand(const std::optional<variable>& x)
      : value(x ? x->value() : tensor{}), slot(x ? x->slot() : gradient_slot{}) {}
};

/// One kernel call in the backward pass: what the derivative of the kernel reads, and where it adds
/// the gradients of the operands. See `differentiable`.
template <std::size_t Operands, std::size_t Results>
class adjoint_call {
 public:
  /// Keeps the operands of a call that the derivative reads, and the shapes of all.
  adjoint_call(const saved_tensors& saved, const std::array<call_operand, Operands>& operands) {
    for (std::size_t i = 0; i < Operands; ++i) {
      const tensor& value = operands[i].value;
      slots_[i] = operands[i].slot;
      operands_[i] = (saved.operands >> i & 1U) != 0 ? value : value.without_elements();
    }
  }
  /// Keeps the results that the derivative reads.
  void keep(const saved_tensors& saved, const std::array<tensor, Results>& results) {
    for (std::size_t i = 0; i < Results; ++i) {
      if ((saved.results >> i & 1U) != 0) {
        results_[i] = results[i];
      }
    }
  }
  /// Begins the backward pass of the call.
  void begin(gradients& to, tensor dy) {
    to_ = &to;
    dy_ = std::move(dy);
  }

  /// Returns the gradient of the first result. A second call returns an empty tensor.
  [[nodiscard]] tensor dy() { return std::exchange(dy_, tensor{}); }
  /// Returns whether an operand needs a gradient.
  [[nodiscard]] bool wants(std::size_t operand) const { return static_cast<bool>(slots_[operand]); }
  /// Adds a gradient of an operand.
  void add(std::size_t operand, tensor&& gradient) {
    to_->add(slots_[operand], std::move(gradient));
  }

  /// Returns the shape of an operand.
  [[nodiscard]] const shape& shape_of(std::size_t operand) const {
    return operands_[operand].shape();
  }
  /// Returns an operand or a result that the derivative reads.
  [[nodiscard]] const tensor& operand(std::size_t i) const { return operands_[i]; }
  [[nodiscard]] const tensor& result(std::size_t i) const { return results_[i]; }
  /// Moves it out, so that a kernel can reuse its memory.
  [[nodiscard]] tensor take_operand(std::size_t i) { return std::move(operands_[i]); }
  [[nodiscard]] tensor take_result(std::size_t i) { return std::move(results_[i]); }
  /// Returns an empty tensor, for an operand that is omitted.
  [[nodiscard]] static tensor none() { return {}; }

  /// Runs a kernel, or records it.
  template <kernel K, class... Given>
  [[nodiscard]] results_t<K, tensor> run(const K& k, Given&&... given) const {
    return to_->device().run(k, tensor(std::forward<Given>(given))...);
  }

 private:
  gradients* to_ = nullptr;
  tensor dy_;
  std::array<gradient_slot, Operands> slots_;
  std::array<tensor, Operands> operands_;
  std::array<tensor, Results> results_;
};

namespace ops {

namespace detail {

/// Returns whether a kernel has a derivative.
template <kernel K>
[[nodiscard]] bool is_differentiable([[maybe_unused]] const K& k) {
  if constexpr (requires { has_gradients(k); }) {
    return has_gradients(k);
  } else {
    return differentiable<K>;
  }
}

/// The derivative of one kernel call, as the tape stores it.
template <kernel K>
struct kernel_adjoint {
  K kernel;
  adjoint_call<K::operands, K::results> call;

  kernel_adjoint(const K& k, const saved_tensors& saved,
                 const std::array<call_operand, K::operands>& operands)
      : kernel(k), call(saved, operands) {}

  void operator()(gradients& to, tensor dy) {
    call.begin(to, std::move(dy));
    add_gradients(kernel, call);
  }
};

/// Runs a kernel, and returns its results as an array even for a single one.
template <kernel K>
[[nodiscard]] std::array<tensor, K::results> run_all(
    const device& on, const K& k, std::array<call_operand, K::operands>& operands) {
  return [&]<std::size_t... I>(std::index_sequence<I...>)->std::array<tensor, K::results> {
    if constexpr (K::results == 1) {
      return {on.run(k, std::move(operands[I].value)...)};
    } else {
      return on.run(k, std::move(operands[I].value)...);
    }
  }
  (std::make_index_sequence<K::operands>{});
}

}  // namespace detail

/// The results of a kernel call: the first one, and the others, which get no gradient.
template <std::size_t Results>
struct call_results {
  variable first;
  std::array<tensor, Results - 1> others;
};

/// Runs a kernel, or records it, and notes its derivative on the tape if an operand needs a
/// gradient. The result is a constant if the kernel has no derivative.
template <kernel K>
[[nodiscard]] call_results<K::results> call_kernel(tape& on, const K& k,
                                                   std::array<call_operand, K::operands> operands) {
  const auto with_others = [](variable first, std::array<tensor, K::results>& all) {
    call_results<K::results> result{std::move(first), {}};
    std::move(all.begin() + 1, all.end(), result.others.begin());
    return result;
  };
  if constexpr (differentiable<K>) {
    const bool wanted = std::any_of(operands.begin(), operands.end(),
                                    [](const call_operand& one) -> bool { return !!one.slot; });
    if (wanted && detail::is_differentiable(k)) {
      const saved_tensors saved = saved_for_gradients(k);
      auto adjoint = on.make_adjoint<detail::kernel_adjoint<K>>(k, saved, operands);
      std::array<tensor, K::results> results = detail::run_all(on.device(), k, operands);
      adjoint->call.keep(saved, results);
      return with_others(on.record(std::move(results[0]), std::move(adjoint)), results);
    }
  }
  std::array<tensor, K::results> results = detail::run_all(on.device(), k, operands);
  return with_others(on.constant(std::move(results[0])), results);
}

/// Calls a kernel and returns its first result.
template <kernel K, class... Operands>
[[nodiscard]] variable call(tape& on, const K& k, Operands&&... operands) {
  return call_kernel(on, k, {call_operand(std::forward<Operands>(operands))...}).first;
}

}  // namespace ops

}  // namespace glia
