#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/graph/any_kernel.hpp"

namespace glia {

/// The most operands and results of a kernel in a compiled graph.
inline constexpr std::size_t most_operands = 16;
inline constexpr std::size_t most_results = 4;

/// The functions of a device for all basic and fused kernels that it runs. A program that names
/// this table contains the loops of all of them.
template <backend B>
class kernel_functions {
 public:
  kernel_functions() {
    add_all(basic_kernels{});
    add_all(fused_kernels{});
  }

  /// Returns the function for kernels of this type, or null if there is none.
  [[nodiscard]] kernel_function<B> find(const kernel_type& type) const noexcept {
    for (const auto& [id, function] : functions_) {
      if (id == type.id) {
        return function;
      }
    }
    return nullptr;
  }

 private:
  template <class... Kernels>
  void add_all(kernel_list<Kernels...>) {
    (functions_.emplace_back(&detail::id_of<Kernels>, detail::function_of<B, Kernels>()), ...);
  }

  std::vector<std::pair<const char*, kernel_function<B>>> functions_;
};

namespace detail {

/// The table of a device. Defined once for each device, in the compiled library for its devices.
template <backend B>
[[nodiscard]] const kernel_functions<B>& functions_of_device() {
  static const kernel_functions<B> functions;
  return functions;
}

}  // namespace detail

/// Returns the function with which a device runs kernels of a type. Throws `value_error` if there
/// is none.
template <backend B>
[[nodiscard]] kernel_function<B> kernel_function_of(const kernel_type& type, const B& device) {
  kernel_function<B> function = nullptr;
  if constexpr (std::is_same_v<B, cpu<float>>) {
    function = type.on_cpu;
  } else {
    function = detail::functions_of_device<B>().find(type);
  }
  require<value_error>(function != nullptr, "compiled graph: the device ", device.name(),
                       " has no implementation of the kernel '", type.name, "'");
  require<value_error>(type.operands <= most_operands && type.results <= most_results,
                       "compiled graph: expected kernels of at most ", most_operands,
                       " operands and ", most_results, " results, got the kernel '", type.name,
                       "' with ", type.operands, " and ", type.results);
  return function;
}

}  // namespace glia
