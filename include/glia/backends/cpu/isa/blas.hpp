#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "glia/backends/cpu/isa/isa.hpp"

// The only header that knows which BLAS library there is. CMake defines GLIA_BLAS_OPENBLAS,
// GLIA_BLAS_ACCELERATE, GLIA_BLAS_MKL, GLIA_BLAS_BLIS, GLIA_BLAS_REFERENCE or GLIA_BLAS_NONE.
// Without a definition, the library is OpenBLAS, or any other one on systems with ELF files. Only
// these systems have weak symbols that may be missing.
#if defined(GLIA_BLAS_OPENBLAS)
#define GLIA_OPENBLAS_FUNCTION
#elif defined(GLIA_BLAS_NONE)
#elif defined(__ELF__)
#define GLIA_OPENBLAS_FUNCTION [[gnu::weak]]
#elif !defined(GLIA_BLAS_ACCELERATE) && !defined(GLIA_BLAS_MKL) && !defined(GLIA_BLAS_BLIS) && \
    !defined(GLIA_BLAS_REFERENCE)
#define GLIA_OPENBLAS_FUNCTION
#endif

#ifdef GLIA_OPENBLAS_FUNCTION
// xtensor-blas's CBLAS header lacks these declarations.
extern "C" {
GLIA_OPENBLAS_FUNCTION char* openblas_get_config();
GLIA_OPENBLAS_FUNCTION char* openblas_get_corename();
GLIA_OPENBLAS_FUNCTION int openblas_get_num_threads();
GLIA_OPENBLAS_FUNCTION void openblas_set_num_threads(int threads);
}
#endif

namespace glia::cpu_loops {

#ifdef GLIA_BLAS_NONE
/// Whether glia is compiled with a BLAS library. Without one, its own loops compute all products.
inline constexpr bool has_blas = false;
#else
inline constexpr bool has_blas = true;
#endif

/// The functions of a BLAS library that are not part of BLAS. A function that it lacks is null.
struct blas_functions {
  char* (*config)() = nullptr;         ///< Returns its version and options.
  char* (*core_name)() = nullptr;      ///< Returns the processor type that it detected.
  int (*threads)() = nullptr;          ///< Returns its number of threads.
  void (*set_threads)(int) = nullptr;  ///< Sets its number of threads for the whole program.
};

/// Returns the functions of this program's BLAS library. Only OpenBLAS has them.
[[nodiscard]] inline blas_functions blas() {
#ifdef GLIA_OPENBLAS_FUNCTION
  return {&openblas_get_config, &openblas_get_corename, &openblas_get_num_threads,
          &openblas_set_num_threads};
#else
  return {};
#endif
}

/// Returns the name of this program's BLAS library, with its version and options if it reports
/// them.
[[nodiscard]] inline std::string_view blas_name() {
  if (blas().config != nullptr) {
    return blas().config();
  }
#if defined(GLIA_BLAS_NONE)
  return "none";
#elif defined(GLIA_BLAS_ACCELERATE)
  return "Accelerate";
#elif defined(GLIA_BLAS_MKL)
  return "MKL";
#elif defined(GLIA_BLAS_BLIS)
  return "BLIS";
#elif defined(GLIA_BLAS_REFERENCE)
  return "reference BLAS";
#else
  return "unknown";
#endif
}

/// Returns whether OpenBLAS's kernels for a processor type use AVX2 or AVX-512. An OpenBLAS that is
/// built for a single type writes its name in capital letters.
[[nodiscard]] inline bool has_avx2_kernels(std::string_view core_name) {
  constexpr std::array<std::string_view, 5> known{"haswell", "zen", "skylakex", "cooperlake",
                                                  "sapphirerapids"};
  const auto same = [](char name, char letter) { return name == (letter | 0x20); };
  return std::any_of(known.begin(), known.end(), [&](std::string_view name) {
    return std::equal(name.begin(), name.end(), core_name.begin(), core_name.end(), same);
  });
}

/// Returns whether BLAS has kernels for the instruction set. If a processor is newer than OpenBLAS,
/// OpenBLAS selects kernels for an old processor. These kernels reach a fifth of the speed. For
/// example, 0.3.21 treats an Emerald Rapids as a Prescott. If a BLAS library does not report its
/// processor type, the result is true.
[[nodiscard]] inline bool blas_knows(isa level) {
  return level == isa::baseline || blas().core_name == nullptr ||
         has_avx2_kernels(blas().core_name());
}

}  // namespace glia::cpu_loops

#undef GLIA_OPENBLAS_FUNCTION
