#include "glia/backends/host_backend_impl.hpp"
#include "glia/backends/host_program_impl.hpp"
#include "glia/backends/program_impl.hpp"
