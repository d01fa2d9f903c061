#pragma once

#include <type_traits>

#include "glia/backends/cpu.hpp"
#include "glia/graph/any_kernel.hpp"

namespace glia::cpu_loops {

// The loops are only declared here: glia::compiled has them in other files, and would compile them
// a second time beside this table.
template <class T>
host_function find_function(const kernel_type& type) {
  if constexpr (std::is_same_v<T, float>) {
    return type.on_cpu;
  } else {
    static const host_functions functions =
        host_functions::make([]<class K>(const K*) { return function_of<T, K>(); });
    return functions.find(type);
  }
}

}  // namespace glia::cpu_loops
