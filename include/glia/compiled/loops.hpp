#pragma once

// Instantiates the cpu backend's loops, some families of kernels in each source.

#include <cstddef>
#include <tuple>
#include <utility>

#include "glia/backends/cpu_impl.hpp"

namespace glia::cpu_loops {

/// Whether kernel K is of a family of loops in numbers of type T.
template <class Family, class T, class K, std::size_t... I>
[[nodiscard]] constexpr bool is_of(std::index_sequence<I...>) {
  return requires(const Family& loops, const K& k, const memory_pool& memory,
                  const host_tensor<T>& tensor) {
    loops.compute(k, memory, (static_cast<void>(I), tensor)...);
  };
}

/// The loops of kernel K; nullptr where it is of none of these families.
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

/// Pointers to the loops of all kernels of some families: what names them has them compiled.
template <class T, class... Families>
[[nodiscard]] constexpr auto loops_of() {
  return std::tuple(loops_of_kernels<T, Families...>(basic_kernels{}),
                    loops_of_kernels<T, Families...>(fused_kernels{}));
}

}  // namespace glia::cpu_loops
