#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/graph/any_kernel.hpp"

namespace glia {

/// How a backend runs kernels of types that are known only when a program runs: a function for each
/// type that was asked for when it was compiled, so that a program holds the loops that it may need
/// and no others.
template <class B>
class runners {
 public:
  using tensor = typename B::tensor;

  /// Runs a kernel. Operands that `given_up` says of are moved from.
  using function = void (*)(const B& device, const void* kernel, tensor* const* operands,
                            const bool* given_up, tensor* const* results);

  /// Adds a kernel's type, and those of the kernels that passes may make of it.
  template <kernel K>
  void add() {
    if (find(detail::type_of<K>) != nullptr) {
      return;
    }
    if constexpr (runs<B, K>) {
      functions_.emplace_back(&detail::type_of<K>, &run<K>);
      if constexpr (requires { typename K::becomes; }) {
        add_all(typename K::becomes{});
      }
    }
  }

  /// The function for kernels of this type; null if there is none.
  [[nodiscard]] function find(const kernel_type& type) const noexcept {
    for (const auto& [known, run] : functions_) {
      if (known == &type) {
        return run;
      }
    }
    return nullptr;
  }

 private:
  template <class... Kernels>
  void add_all(kernel_list<Kernels...>) {
    (add<Kernels>(), ...);
  }

  template <kernel K>
  static void run(const B& device, const void* kernel, tensor* const* operands,
                  const bool* given_up, tensor* const* results) {
    const auto operand = [&](std::size_t i) -> tensor {
      return given_up[i] ? std::exchange(*operands[i], tensor{}) : *operands[i];
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      // In order: an operand that comes twice is given up at its last place.
      std::array<tensor, K::operands> in{operand(I)...};
      auto made = device.run(*static_cast<const K*>(kernel), std::move(in[I])...);
      if constexpr (K::results == 1) {
        *results[0] = std::move(made);
      } else {
        for (std::size_t i = 0; i < K::results; ++i) {
          *results[i] = std::move(made[i]);
        }
      }
    }
    (std::make_index_sequence<K::operands>{});
  }

  std::vector<std::pair<const kernel_type*, function>> functions_;
};

}  // namespace glia
