#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "glia/backends/host_tensor.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/kernels/host_function.hpp"

namespace glia::detail {

/// Copies the initial value of an update to the result, unless it is already there.
inline void start_from(const tensor& operand, const tensor& result) {
  if (operand && operand.bytes() != result.bytes()) {
    std::copy_n(operand.bytes(),
                operand.size() * glia::bytes_of(operand.type(), operand.real_bytes()),
                result.bytes());
  }
}

/// Calls loops.compute(kernel, memory, operands..., results...) with views of the tensors.
template <class T, kernel K, class Loops>
void call_loops(const Loops& loops, const memory_pool& memory, const void* kernel,
                const tensor* const* operands, const tensor* const* results) {
  [&]<std::size_t... I, std::size_t... R>(std::index_sequence<I...>, std::index_sequence<R...>) {
    if constexpr (updates<K>()) {
      (start_from(*operands[overwritten_by<K>(R)], *results[R]), ...);
    }
    loops.compute(*static_cast<const K*>(kernel), memory, tensor_view<T>(*operands[I])...,
                  tensor_view<T>(*results[R])...);
  }
  (std::make_index_sequence<K::operands>{}, std::make_index_sequence<K::results>{});
}

template <class Loops, class K, class View, std::size_t... Operand, std::size_t... Result>
[[nodiscard]] constexpr bool computes(std::index_sequence<Operand...>,
                                      std::index_sequence<Result...>) {
  return requires(const Loops& loops, const K& k, const memory_pool& memory, const View& x) {
    loops.compute(k, memory, (static_cast<void>(Operand), x)..., (static_cast<void>(Result), x)...);
  };
}

/// Satisfied if `Loops` implements a kernel for numbers of type T.
template <class Loops, class K, class T>
concept has_loops = computes<Loops, K, tensor_view<T>>(std::make_index_sequence<K::operands>{},
                                                       std::make_index_sequence<K::results>{});

}  // namespace glia::detail
