#pragma once

#include "glia/backends/cpu/isa/avx2.hpp"
#include "glia/backends/cpu/isa/avx512.hpp"
#include "glia/backends/cpu/isa/avx512_vnni.hpp"
#include "glia/backends/cpu/isa/baseline.hpp"
#include "glia/backends/cpu/isa/isa.hpp"
#include "glia/core/flush_denormals.hpp"

// Dispatches at run time, without special compiler flags. The same loops are compiled for the
// instruction set of the build, for AVX2 with FMA and BMI2 (every processor with AVX2 has them),
// and for AVX-512. The integer loops are compiled for each way in which processors multiply bytes:
// plain C++, AVX2 with products of 16-bit integers, and VNNI with registers of 64 and 32 bytes. All
// integer loops give the same sums.

namespace glia::cpu_loops {

/// Calls `body` with the struct of loops compiled for `level`. Denormals are flushed to zero during
/// the call.
template <class Body>
decltype(auto) with_isa(isa level, const Body& body) {
  const flush_denormals on_this_thread;
#if defined(__x86_64__)
  if (level >= isa::avx512) {
    return body(avx512::vector_loops{});
  }
  if (level >= isa::avx2) {
    return body(avx2::vector_loops{});
  }
#endif
  static_cast<void>(level);
  return body(baseline::vector_loops{});
}

/// Returns whether this processor multiplies bytes in registers of 64 bytes.
[[nodiscard]] inline bool has_vnni() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

/// Calls `body` with the struct of integer loops for `level`.
template <class Body>
decltype(auto) with_integer_isa(isa level, const Body& body) {
#if defined(__x86_64__)
  if (level >= isa::avx512 && has_vnni()) {
    return body(avx512_vnni::integer_loops{});
  }
  if (level >= isa::avx2) {
    return body(avx2::integer_loops{});
  }
#endif
  static_cast<void>(level);
  return body(baseline::integer_loops{});
}

}  // namespace glia::cpu_loops
