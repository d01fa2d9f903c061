#pragma once

#include <type_traits>

#include "glia/backends/cpu.hpp"
#include "glia/graph/any_kernel.hpp"

namespace glia {

// Not beside the other members: the loops are only declared here, so that glia::compiled, which has
// them in other files, does not compile them again with this table.
template <class T>
host_function cpu_backend<T>::find(const kernel_type& type) const {
  if constexpr (std::is_same_v<T, float>) {
    return type.on_cpu;
  } else {
    static const host_functions functions =
        host_functions::of([]<class K>(const K*) { return cpu_loops::function_of<T, K>(); });
    return functions.find(type);
  }
}

}  // namespace glia
