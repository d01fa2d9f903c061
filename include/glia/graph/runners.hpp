#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/graph/any_kernel.hpp"

namespace glia {

/// The functions with which a backend runs kernels whose types are only known at run time. There is
/// one function for each kernel type that was requested at compile time. Thus an executable
/// contains only loops that it can need.
template <class B>
class runners {
 public:
  using tensor = typename B::tensor;

  static constexpr std::size_t most_operands = 16;
  static constexpr std::size_t most_results = 4;

  /// A function that runs a kernel with existing result tensors.
  using function = void (*)(const B& device, const void* kernel, const tensor* const* operands,
                            const tensor* const* results);

  /// Adds the functions for kernels of type K and for the kernels by which passes may replace them.
  /// Does nothing if the backend does not run compiled graphs.
  template <kernel K>
  void add() {
    if (find(detail::type_of<K>) != nullptr) {
      return;
    }
    if constexpr (placing_backend<B> && runs<B, K>) {
      static_assert(K::operands <= most_operands && K::results <= most_results,
                    "a program takes kernels of at most 16 operands and 4 results");
      functions_.emplace_back(&detail::type_of<K>, &run<K>);
      if constexpr (requires { typename K::becomes; }) {
        add_all(typename K::becomes{});
      }
    }
  }

  /// Returns the function for kernels of this type. Throws `value_error` if the backend has no such
  /// function.
  [[nodiscard]] function of(const kernel_type& type, const B& device) const {
    const function found = find(type);
    require<value_error>(found != nullptr, "compiled graph: the device ", device.name(),
                         " has no implementation of the kernel '", type.name, "'");
    return found;
  }

 private:
  [[nodiscard]] function find(const kernel_type& type) const noexcept {
    for (const auto& [known, run] : functions_) {
      if (known == &type) {
        return run;
      }
    }
    return nullptr;
  }

  template <class... Kernels>
  void add_all(kernel_list<Kernels...>) {
    (add<Kernels>(), ...);
  }

  template <kernel K>
  static void run(const B& device, const void* kernel, const tensor* const* operands,
                  const tensor* const* results) {
    [&]<std::size_t... I, std::size_t... R>(std::index_sequence<I...>, std::index_sequence<R...>) {
      if constexpr (updates<K>()) {
        (start_from(device, *operands[overwritten_by<K>(R)], *results[R]), ...);
      }
      device.run_into(*static_cast<const K*>(kernel), *operands[I]..., *results[R]...);
    }
    (std::make_index_sequence<K::operands>{}, std::make_index_sequence<K::results>{});
  }

  /// Copies the initial value of an update to the result, unless it is already there.
  static void start_from(const B& device, const tensor& operand, const tensor& result) {
    if (operand && operand.bytes() != result.bytes()) {
      device.copy_into(operand, result);
    }
  }

  std::vector<std::pair<const kernel_type*, function>> functions_;
};

}  // namespace glia
