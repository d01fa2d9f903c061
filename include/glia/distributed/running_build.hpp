#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "glia/core/checksum.hpp"
#include "glia/core/error.hpp"
#include "glia/core/platform/machine.hpp"

namespace glia::detail {

/// Returns a checksum of the running program's file, or "unknown" if the file cannot be read. Ranks
/// compare it to check that they run the same program.
[[nodiscard]] inline std::string running_build() {
  std::ifstream file(platform::program_path(), std::ios::binary);
  if (!file) {
    return "unknown";
  }
  checksum sum;
  std::string part(std::size_t{1} << 20, '\0');
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0) {
    sum.add(std::string_view(part.data(), static_cast<std::size_t>(file.gcount())));
  }
  return text(sum.value());
}

}  // namespace glia::detail
