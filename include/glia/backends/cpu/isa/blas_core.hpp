#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "glia/backends/cpu/isa/isa.hpp"

extern "C" {
// Returns the name of the processor type that OpenBLAS detected. Other BLAS libraries do not define
// this function.
[[gnu::weak]] char* openblas_get_corename();
}

namespace glia::cpu_loops {

/// Returns whether BLAS has kernels for the instruction set. If a processor is newer than OpenBLAS,
/// OpenBLAS selects kernels for an old processor. These kernels reach a fifth of the speed. For
/// example, 0.3.21 treats an Emerald Rapids as a Prescott. If a BLAS library does not report its
/// processor type, the result is true.
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
