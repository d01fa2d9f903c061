#pragma once

#include <string>

#include "glia/core/platform/machine.hpp"

namespace glia {

/// Returns the system's name of the processor, such as "Intel(R) Xeon(R) CPU @ 2.20GHz". If the
/// system has no name, returns the architecture, such as "aarch64".
[[nodiscard]] inline std::string processor_name() { return platform::processor_name(); }

}  // namespace glia
