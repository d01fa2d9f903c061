#pragma once

// Instantiates the loops of the `cpu` device, some families of kernels in each source file.

#include <cstddef>
#include <tuple>
#include <utility>

#include "glia/backends/cpu_impl.hpp"

namespace glia::cpu_loops {

/// Whether kernel K belongs to a family of loops with numbers of type T.
template <class Family, class T, class K, std::size_t... I>
[[nodiscard]] constexpr bool is_of(std::index_sequence<I...>) {
  return requires(const Family& loops, const K& k, const memory_pool& memory,
                  const detail::tensor_view<T>& x) {
    loops.compute(k, memory, (static_cast<void>(I), x)...);
  };
}

/// Returns the loops of kernel K, or nullptr if it does not belong to these families.
template <class T, class K, class... Families>
[[nodiscard]] constexpr auto loops_of_kernel() {
  if constexpr ((is_of<Families, T, K>(std::make_index_sequence<K::operands + K::results>{}) ||
                 ...)) {
    return &run<T, K>;
  } else {
    return nullptr;
  }
}

template <class T, class... Families, class... K>
[[nodiscard]] constexpr auto loops_of_kernels(kernel_list<K...>) {
  return std::tuple(loops_of_kernel<T, K, Families...>()...);
}

/// Pointers to the loops of all kernels of some families. Naming this array compiles them.
template <class T, class... Families>
[[nodiscard]] constexpr auto loops_of() {
  return std::tuple(loops_of_kernels<T, Families...>(basic_kernels{}),
                    loops_of_kernels<T, Families...>(fused_kernels{}));
}

}  // namespace glia::cpu_loops
