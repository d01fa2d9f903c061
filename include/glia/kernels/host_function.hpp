#pragma once

#include "glia/core/memory_pool.hpp"
#include "glia/kernels/kernels.hpp"
#include "glia/kernels/tensor.hpp"

namespace glia {

/// The loops of a device in host memory, and the memory that they can use.
struct host_context {
  const void* loops;
  const memory_pool& memory;
};

/// A function that runs the loops of a kernel, with existing result tensors.
using host_function = void (*)(const host_context& context, const void* kernel,
                               const tensor* const* operands, const tensor* const* results);

namespace detail {

/// Returns the host_function of a kernel that has `compute(operands, results)`, otherwise null.
template <kernel K>
[[nodiscard]] constexpr host_function host_function_of() {
  if constexpr (requires(const K& k, const tensor* const* tensors) {
                  k.compute(tensors, tensors);
                }) {
    return [](const host_context& /*context*/, const void* kernel, const tensor* const* operands,
              const tensor* const* results) {
      static_cast<const K*>(kernel)->compute(operands, results);
    };
  } else {
    return nullptr;
  }
}

}  // namespace detail

namespace cpu_loops {

/// Runs a kernel on the `cpu` device, with numbers of type T. It is the host_function of the
/// kernel, and defined in backends/cpu/all_families.hpp. `context.loops` is an all_families<T>.
template <class T, kernel K>
void run(const host_context& context, const void* kernel, const tensor* const* operands,
         const tensor* const* results);

/// Returns the host_function of a kernel, or null if the `cpu` device does not run it.
template <class T, kernel K>
[[nodiscard]] constexpr host_function function_of() {
  if constexpr (is_basic<K> || is_fused<K>) {
    return &run<T, K>;
  } else {
    return nullptr;
  }
}

}  // namespace cpu_loops

}  // namespace glia
