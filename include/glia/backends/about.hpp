#pragma once

#include <string>

namespace glia {

/// Returns a text about glia and this machine, for bug reports and logs. A line has the form "name:
/// value". The lines are glia's version, the processor, the instruction set of glia's loops, the
/// default number of threads, and the BLAS library with the reason if glia does not use it.
[[nodiscard]] std::string about();

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/backends/about_impl.hpp"
#endif
