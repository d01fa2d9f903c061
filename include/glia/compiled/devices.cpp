#include "glia/backends/cpu_functions_impl.hpp"
#include "glia/backends/host_backend_impl.hpp"
#include "glia/backends/host_program_impl.hpp"
#include "glia/backends/program_impl.hpp"

namespace glia {

template host_function cpu_backend<float>::find(const kernel_type&) const;
#ifndef GLIA_COMPILED_FLOAT_ALONE
template host_function cpu_backend<double>::find(const kernel_type&) const;
#endif

}  // namespace glia
