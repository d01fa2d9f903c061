#pragma once

#include <cstdint>

namespace glia {

/// While it lives, the calling thread takes numbers too small for full precision (below 1.2e-38 in
/// single precision) for 0, as operands and as results.
///
/// An optimizer's running means decay into that range wherever gradients stay away, and never leave
/// it; there a product takes Intel's processors a hundred times as long.
class flush_denormals {
 public:
  flush_denormals() noexcept : before_(state()) {
    if ((before_ & flushing) != flushing) {
      set_state(before_ | flushing);
    }
  }
  flush_denormals(const flush_denormals&) = delete;
  flush_denormals& operator=(const flush_denormals&) = delete;
  ~flush_denormals() {
    if ((before_ & flushing) != flushing) {
      set_state(before_);
    }
  }

 private:
#if defined(__x86_64__)
  using word = std::uint32_t;
  static constexpr word flushing = 0x8040;  // of MXCSR: flush to zero, denormals are zeros
  static word state() noexcept { return __builtin_ia32_stmxcsr(); }
  static void set_state(word value) noexcept { __builtin_ia32_ldmxcsr(value); }
#elif defined(__aarch64__)
  using word = std::uint64_t;
  static constexpr word flushing = word{1} << 24;  // of FPCR: flush to zero
  static word state() noexcept {
    word value = 0;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_state(word value) noexcept { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
  using word = std::uint32_t;
  static constexpr word flushing = 0;
  static word state() noexcept { return 0; }
  static void set_state(word) noexcept {}
#endif

  word before_;
};

}  // namespace glia
