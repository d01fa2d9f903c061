#pragma once

#include "glia/backends/cpu/isa/avx2.hpp"
#include "glia/backends/cpu/loops/integer_operands.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "glia/backends/cpu/isa/begin.inl"
#if defined(__clang__)
#pragma clang attribute push(                                                               \
    __attribute__((target("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif

namespace glia::cpu_loops::avx512_vnni {

/// Returns s plus the products of four bytes in each element. It names the instruction because g++
/// 12 moves sums to memory and back around the intrinsic.
template <class Register>
[[gnu::always_inline]] inline Register added_products(Register s, Register x, Register w) {
  asm("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(x), "vm"(w));
  return s;
}

/// Registers of 64 bytes with an instruction for products of bytes.
struct integer_registers {
  static constexpr std::size_t size = 64;
  static constexpr std::size_t tile_pixels = 6;
  static constexpr __mmask16 full_mask = 0xFFFF;  // avoids false warnings of g++ 12

  using sums = __m512i;
  using bytes = __m512i;

  static sums no_sums() { return _mm512_setzero_si512(); }
  static bytes no_bytes() { return _mm512_setzero_si512(); }
  static bytes load(const std::uint8_t* x) { return _mm512_loadu_si512(x); }
  static void store(bytes x, std::uint8_t* target) { _mm512_storeu_si512(target, x); }
  static bytes larger(bytes a, bytes b) { return _mm512_max_epu8(a, b); }
  static sums add(sums a, sums b) { return _mm512_add_epi32(a, b); }
  static sums larger_sums(sums a, sums b) { return _mm512_maskz_max_epi32(full_mask, a, b); }
  static bytes broadcast(const std::uint8_t* x) {
    std::int32_t four = 0;
    std::memcpy(&four, x, 4);
    return _mm512_set1_epi32(four);
  }
  static bytes weights(const std::int8_t* w) { return _mm512_loadu_si512(w); }
  static sums add_products(sums s, bytes x, bytes w) { return added_products(s, x, w); }
  static void interleave(bytes a, bytes b, bytes c, bytes d, bytes* target) {
    const __m512i ab_low = _mm512_unpacklo_epi8(a, b);
    const __m512i ab_high = _mm512_unpackhi_epi8(a, b);
    const __m512i cd_low = _mm512_unpacklo_epi8(c, d);
    const __m512i cd_high = _mm512_unpackhi_epi8(c, d);
    target[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
    target[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
    target[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
    target[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
  }
  static __m512 scaled(sums s, const integer_products& panel, std::size_t first) {
    return _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(full_mask, s),
                           _mm512_loadu_ps(panel.multipliers + first),
                           _mm512_loadu_ps(panel.shifts + first));
  }
  static void store_bytes(const sums* s, const integer_products& panel, std::uint8_t* target) {
    const __m512 high = _mm512_set1_ps(panel.high);
    const auto whole = [&](std::size_t v) {
      return _mm512_maskz_cvtps_epi32(
          full_mask, _mm512_maskz_min_ps(full_mask, scaled(s[v], panel, 16 * v), high));
    };
    const __m512i packed = _mm512_packus_epi16(_mm512_packs_epi32(whole(0), whole(1)),
                                               _mm512_packs_epi32(whole(2), whole(3)));
    const __m512i lowest_byte = _mm512_set1_epi8(static_cast<char>(panel.lowest_byte));
    _mm512_storeu_si512(target, _mm512_max_epu8(packed, lowest_byte));
  }
  /// Stores the results of two vectors as bytes.
  static void store_few_bytes(const sums* s, const integer_products& panel, std::uint8_t* target) {
    const __m512 high = _mm512_set1_ps(panel.high);
    const auto whole = [&](std::size_t v) {
      return _mm512_maskz_cvtps_epi32(
          full_mask, _mm512_maskz_min_ps(full_mask, scaled(s[v], panel, 16 * v), high));
    };
    const __m512i packed = _mm512_max_epi16(_mm512_packs_epi32(whole(0), whole(1)),
                                            _mm512_set1_epi16(panel.lowest_byte));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target),
                        _mm512_maskz_cvtepi16_epi8(0xFFFFFFFF, packed));
  }
  static void store_numbers(sums s, const integer_products& panel, std::size_t first,
                            std::size_t count, float* target) {
    const __m512 y = _mm512_maskz_min_ps(
        full_mask,
        _mm512_maskz_max_ps(full_mask, scaled(s, panel, first), _mm512_set1_ps(panel.low)),
        _mm512_set1_ps(panel.high));
    _mm512_mask_storeu_ps(target + first, static_cast<__mmask16>((1U << count) - 1), y);
  }
  static void quantize(const float* x, const kernels::byte_range& range, float per_scale,
                       std::uint8_t* target) {
    const __m512 low = _mm512_set1_ps(static_cast<float>(range.minimum - range.zero));
    const __m512 high = _mm512_set1_ps(static_cast<float>(range.maximum - range.zero));
    const __m512i zero = _mm512_set1_epi32(range.zero);
    for (std::size_t v = 0; v < 4; ++v) {
      const __m512 y = _mm512_mul_ps(_mm512_loadu_ps(x + 16 * v), _mm512_set1_ps(per_scale));
      const __m512 bounded =
          _mm512_maskz_min_ps(full_mask, _mm512_maskz_max_ps(full_mask, y, low), high);
      const __m512i whole = _mm512_add_epi32(_mm512_maskz_cvtps_epi32(full_mask, bounded), zero);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(target + 16 * v),
                       _mm512_maskz_cvtepi32_epi8(full_mask, whole));
    }
  }
};

/// The lower halves of the VNNI registers.
struct narrow_integer_registers : avx2::integer_registers {
  static constexpr std::size_t tile_pixels = 6;

  static sums add_products(sums s, bytes x, bytes w) { return added_products(s, x, w); }
};

#include "glia/backends/cpu/loops/integer_loops.inl"

}  // namespace glia::cpu_loops::avx512_vnni

#if defined(__clang__)
#pragma clang attribute pop
#endif
#include "glia/backends/cpu/isa/end.inl"
#endif
