#pragma once

#include <cstdint>
#include <string_view>

namespace glia::cpu_loops {

/// Instruction sets. Each set includes the sets before it.
enum class isa : std::uint8_t { baseline, avx2, avx512 };

/// Returns the best instruction set that this processor supports.
[[nodiscard]] inline isa best_isa() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
      __builtin_cpu_supports("bmi2") != 0) {
    const bool has_avx512 =
        __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    return has_avx512 ? isa::avx512 : isa::avx2;
  }
#endif
  return isa::baseline;
}

/// Returns the name of an instruction set for messages.
[[nodiscard]] constexpr std::string_view isa_name(isa level) noexcept {
  return level == isa::avx512 ? "AVX-512" : level == isa::avx2 ? "AVX2" : "baseline";
}

}  // namespace glia::cpu_loops
