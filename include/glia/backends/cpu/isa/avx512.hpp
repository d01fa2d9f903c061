#pragma once

#include "glia/backends/cpu/loops/vector_operands.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "glia/backends/cpu/isa/begin.inl"
#if defined(__clang__)
#pragma clang attribute push(                                                           \
    __attribute__((target("avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")
#endif

namespace glia::cpu_loops::avx512 {

inline constexpr std::size_t bytes_per_register = 64;

#include "glia/backends/cpu/loops/registers.inl"

/// The functions for which AVX-512 has instructions that compilers do not find. (The masks that
/// keep every element silence false warnings of g++ 12.)
struct instructions : registers {
  using registers::append_nonzeros;
  using registers::copy_some;
  using registers::load_positions;
  using registers::square_roots;
  using registers::store_positions;
  using registers::store_some;
  using registers::transpose_tile;

  // The code names the instructions, because g++ 12 moves one element after the other.
  static void store_positions(const float_mask& source, std::uint8_t* target) {
    __m512i elements;
    __builtin_memcpy(&elements, &source, sizeof(elements));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target),
                     _mm512_maskz_cvtepi32_epi8(0xFFFF, elements));
  }
  static float_mask load_positions(const std::uint8_t* source, const float_mask& /*type*/) {
    float_mask result;
    const __m512i elements = _mm512_maskz_cvtepu8_epi32(
        0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
    __builtin_memcpy(&result, &elements, sizeof(result));
    return result;
  }

  static void square_roots(float* x, std::size_t n) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      _mm512_storeu_ps(x + i, _mm512_maskz_sqrt_ps(0xFFFF, _mm512_loadu_ps(x + i)));
    }
    for (; i < n; ++i) {
      x[i] = __builtin_sqrtf(x[i]);
    }
  }

  static void copy_some(const float* source, std::size_t count, float* target) {
    const auto mask = static_cast<__mmask16>((1U << count) - 1U);
    _mm512_storeu_ps(target, _mm512_maskz_loadu_ps(mask, source));
  }
  static void store_some(const simd_of<float>::vector& v, std::size_t count, float* target) {
    const auto mask = static_cast<__mmask16>((1U << count) - 1U);
    _mm512_mask_storeu_ps(target, mask, v);
  }

#include "glia/backends/cpu/isa/eight_floats.inl"

  // Appends the nonzeros among 16 values. A mask packs the nonzeros and their indices, which are
  // then joined in pairs.
  static std::size_t append_sixteen(const float* x, std::size_t first, nonzero<float>* entries) {
    const __m512 values = _mm512_loadu_ps(x);
    const __mmask16 mask = _mm512_cmp_ps_mask(values, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    const __m512i steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i packed = _mm512_castps_si512(_mm512_maskz_compress_ps(mask, values));
    const __m512i indices = _mm512_maskz_compress_epi32(
        mask, _mm512_add_epi32(steps, _mm512_set1_epi32(static_cast<int>(first))));
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    _mm512_storeu_si512(entries, _mm512_permutex2var_epi32(packed, low, indices));
    _mm512_storeu_si512(entries + 8, _mm512_permutex2var_epi32(packed, high, indices));
    return static_cast<std::size_t>(__builtin_popcount(mask));
  }

  // Computes Philox for 8 consecutive blocks together; core/random.hpp describes the algorithm.
  static void philox_blocks(const random_key& key, std::uint64_t first, std::uint32_t* words) {
    auto k0 = static_cast<std::uint32_t>(key.seed);
    auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
    __m512i c0 = _mm512_add_epi64(_mm512_set1_epi64(static_cast<long long>(first)),
                                  _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    __m512i c1 = _mm512_maskz_srli_epi64(0xFF, c0, 32);
    __m512i c2 = _mm512_set1_epi64(key.stream);
    __m512i c3 = _mm512_set1_epi64(key.step);
    const __m512i m0 = _mm512_set1_epi64(0xD2511F53);
    const __m512i m1 = _mm512_set1_epi64(0xCD9E8D57);
    for (int round = 0; round < 10; ++round) {
      const __m512i p0 = _mm512_maskz_mul_epu32(0xFF, c0, m0);
      const __m512i p1 = _mm512_maskz_mul_epu32(0xFF, c2, m1);
      const __m512i high0 = _mm512_maskz_srli_epi64(0xFF, p0, 32);
      const __m512i high1 = _mm512_maskz_srli_epi64(0xFF, p1, 32);
      c0 = high1 ^ c1 ^ _mm512_set1_epi64(k0);
      c2 = high0 ^ c3 ^ _mm512_set1_epi64(k1);
      c1 = p1;
      c3 = p0;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    const __m512i low = _mm512_mask_blend_epi32(0xAAAA, c0, _mm512_maskz_slli_epi64(0xFF, c1, 32));
    const __m512i high = _mm512_mask_blend_epi32(0xAAAA, c2, _mm512_maskz_slli_epi64(0xFF, c3, 32));
    const __m512i first_half = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i second_half = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_storeu_si512(words, _mm512_permutex2var_epi64(low, first_half, high));
    _mm512_storeu_si512(words + 16, _mm512_permutex2var_epi64(low, second_half, high));
  }
};

#include "glia/backends/cpu/loops/vector_loops.inl"

}  // namespace glia::cpu_loops::avx512

#if defined(__clang__)
#pragma clang attribute pop
#endif
#include "glia/backends/cpu/isa/end.inl"
#endif
