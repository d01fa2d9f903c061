#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "glia/backends/cpu/isa.hpp"

extern "C" {
// The processor that OpenBLAS takes this one for; other BLAS libraries have no such function.
[[gnu::weak]] char* openblas_get_corename();
}

namespace glia::cpu_loops {

/// Whether BLAS has kernels for the instruction set. OpenBLAS takes a processor that is newer than
/// itself for an old one, whose kernels reach a fifth of the speed: 0.3.21 an Emerald Rapids for a
/// Prescott. A BLAS that does not say is trusted.
[[nodiscard]] inline bool blas_knows(isa level) {
  if (level == isa::baseline || openblas_get_corename == nullptr) {
    return true;
  }
  constexpr std::array<std::string_view, 5> with_avx512{"SkylakeX", "Cooperlake", "SapphireRapids",
                                                        "Zen", "Haswell"};
  const std::string_view core = openblas_get_corename();
  const auto* last = level == isa::avx512 ? with_avx512.end() - 1 : with_avx512.end();
  return std::find(with_avx512.begin(), last, core) != last;
}

}  // namespace glia::cpu_loops
