#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "glia/graph/any_kernel.hpp"
#include "glia/ops/tape.hpp"

namespace glia {

/// An operand of a kernel call on a tape: a variable, or a tensor, which gets no gradient. An empty
/// tensor stands for an omitted operand.
struct call_operand {
  tensor value;
  gradient_slot slot = {};

  call_operand(tensor x) : value(std::move(x)) {}
  call_operand(const variable& x) : value(x.value()), slot(x.slot()) {}
  call_operand(variable&& x) : call_operand(x.slot(), std::move(x)) {}
  call_operand(const std::optional<variable>& x)
      : value(x ? x->value() : tensor{}), slot(x ? x->slot() : gradient_slot{}) {}

 private:
  call_operand(gradient_slot its_slot, variable&& x)
      : value(std::move(x).value()), slot(its_slot) {}
};

namespace ops {

/// The results of a kernel call: the first one, and the rest, which get no gradient.
template <std::size_t Results>
struct call_results {
  variable first;
  std::array<tensor, Results - 1> rest;
};

/// Runs a kernel, or records it, and notes its derivative on the tape if an operand needs a
/// gradient. The result is a constant if the kernel has no derivative.
template <kernel K>
[[nodiscard]] call_results<K::results> call_kernel(tape& owner, const K& k,
                                                   std::array<call_operand, K::operands> operands) {
  return [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>,
                                                 std::index_sequence<J...>) {
    std::array<tensor, K::operands> values{std::move(operands[I].value)...};
    const std::array<gradient_slot, K::operands> slots{operands[I].slot...};
    std::array<tensor, K::results> results;
    const gradient_slot slot = owner.call(glia::detail::type_of<K>(), &k, values, slots, results);
    return call_results<K::results>{{owner, std::move(results[0]), slot},
                                    {std::move(results[J + 1])...}};
  }
  (std::make_index_sequence<K::operands>{}, std::make_index_sequence<K::results - 1>{});
}

/// Calls a kernel and returns its first result.
template <kernel K, class... Operands>
[[nodiscard]] variable call(tape& owner, const K& k, Operands&&... operands) {
  return call_kernel(owner, k, {call_operand(std::forward<Operands>(operands))...}).first;
}

}  // namespace ops

}  // namespace glia
