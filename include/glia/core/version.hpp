#pragma once

#include <string>

#include "glia/core/error.hpp"

// The only place that defines glia's version. The build files and the Conan recipe parse it.
#define GLIA_VERSION_MAJOR 0
#define GLIA_VERSION_MINOR 4
#define GLIA_VERSION_PATCH 0

namespace glia::detail {

/// Returns glia's version, such as "0.4.0".
[[nodiscard]] inline std::string version_text() {
  return text(GLIA_VERSION_MAJOR, '.', GLIA_VERSION_MINOR, '.', GLIA_VERSION_PATCH);
}

}  // namespace glia::detail
