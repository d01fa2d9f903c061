#pragma once

#include <concepts>
#include <cstdint>

#include "glia/kernels/kernels.hpp"

namespace glia {

/// A set of fused kernels, such as those that a backend runs.
class fused_kernel_set {
 public:
  /// Makes an empty set.
  constexpr fused_kernel_set() = default;

  /// Returns the set of all fused kernels.
  [[nodiscard]] static constexpr fused_kernel_set all() {
    return of([]<class K>(const K*) { return true; });
  }
  /// Returns the set of the fused kernels K for which `contained(static_cast<const K*>(nullptr))`
  /// is true.
  template <class Contained>
  [[nodiscard]] static constexpr fused_kernel_set of(const Contained& contained) {
    return of(contained, fused_kernels{});
  }

  /// Returns whether the set contains a kernel.
  template <kernel K>
  requires is_fused<K>
  [[nodiscard]] constexpr bool contains() const { return (bits_ & bit<K>(fused_kernels{})) != 0; }

 private:
  template <class K, class... Kernels>
  [[nodiscard]] static constexpr std::uint32_t bit(kernel_list<Kernels...>) {
    static_assert(sizeof...(Kernels) <= 32);
    std::uint32_t next = 1;
    std::uint32_t found = 0;
    ((found |= std::same_as<K, Kernels> ? next : 0, next <<= 1), ...);
    return found;
  }
  template <class Contained, class... Kernels>
  [[nodiscard]] static constexpr fused_kernel_set of(const Contained& contained,
                                                     kernel_list<Kernels...> list) {
    fused_kernel_set result;
    result.bits_ =
        ((contained(static_cast<const Kernels*>(nullptr)) ? bit<Kernels>(list) : 0) | ... | 0);
    return result;
  }

  std::uint32_t bits_ = 0;
};

}  // namespace glia
