#pragma once

#include <cstdint>

namespace glia {

/// While an object of this class exists, the calling thread treats denormal numbers as 0, both as
/// operands and as results. In single precision, these are numbers with an absolute value below
/// 1.2e-38.
///
/// If gradients are zero, an optimizer's running means decay into this range and stay there. On
/// Intel processors, a product of such numbers takes a hundred times as long as other products.
///
/// It has an effect on x86-64 and 64-bit ARM. WebAssembly always computes with denormal numbers.
class flush_denormals {
 public:
  flush_denormals() noexcept : saved_(state()) {
    if ((saved_ & flushing) != flushing) {
      set_state(saved_ | flushing);
    }
  }
  flush_denormals(const flush_denormals&) = delete;
  flush_denormals& operator=(const flush_denormals&) = delete;
  ~flush_denormals() {
    if ((saved_ & flushing) != flushing) {
      set_state(saved_);
    }
  }

 private:
#if defined(__x86_64__)
  using word = std::uint32_t;
  static constexpr word flushing = 0x8040;  // bits of MXCSR: flush to zero, denormals are zeros
  static word state() noexcept { return __builtin_ia32_stmxcsr(); }
  static void set_state(word value) noexcept { __builtin_ia32_ldmxcsr(value); }
#elif defined(__aarch64__)
  using word = std::uint64_t;
  static constexpr word flushing = word{1} << 24;  // bit of FPCR: flush to zero
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

  word saved_;
};

}  // namespace glia
