#include "glia/backends/cpu_functions_impl.hpp"
#include "glia/backends/host_backend_impl.hpp"
#include "glia/backends/host_program_impl.hpp"
#include "glia/backends/program_impl.hpp"

namespace glia::cpu_loops {

template host_function find_function<float>(const kernel_type&);
#ifndef GLIA_COMPILED_FLOAT_ALONE
template host_function find_function<double>(const kernel_type&);
#endif

}  // namespace glia::cpu_loops
