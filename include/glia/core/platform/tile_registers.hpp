#pragma once

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace glia::platform {

/// Returns whether the processor multiplies bfloat16 numbers in tile registers (AMX) and the system
/// lets this process use them. Asks the system for this permission, which holds for all threads.
[[nodiscard]] inline bool request_tile_registers() noexcept {
#if defined(__x86_64__) && defined(__linux__)
  static const bool granted = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    constexpr unsigned bfloat16_and_tiles = 1U << 22U | 1U << 24U;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 ||
        (edx & bfloat16_and_tiles) != bfloat16_and_tiles) {
      return false;
    }
    constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long tile_data = 18;               // XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return granted;
#else
  return false;
#endif
}

}  // namespace glia::platform
