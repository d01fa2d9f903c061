#pragma once

#include <cstddef>

#include "glia/core/platform/memory_use.hpp"

namespace glia {

/// Returns the resident memory of this process in bytes, or 0 if the system does not report it.
[[nodiscard]] inline std::size_t resident_bytes() { return platform::resident_bytes(); }

/// Returns the peak resident memory of this process in bytes, or 0 if the system does not report
/// it.
[[nodiscard]] inline std::size_t peak_resident_bytes() { return platform::peak_resident_bytes(); }

}  // namespace glia
