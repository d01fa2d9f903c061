#pragma once

#include "glia/backends/cpu/loops/integer_operands.hpp"
#include "glia/backends/cpu/loops/vector_operands.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "glia/backends/cpu/isa/begin.inl"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2,popcnt")
#endif

namespace glia::cpu_loops::avx2 {

/// Registers of 32 bytes. Products of bytes use 16-bit integers, because the instruction that adds
/// pairs of byte products would overflow.
struct integer_registers {
  static constexpr std::size_t size = 32;
  static constexpr std::size_t tile_pixels = 2;

  using sums = __m256i;
  using bytes = __m256i;

  static sums no_sums() { return _mm256_setzero_si256(); }
  static bytes no_bytes() { return _mm256_setzero_si256(); }
  static bytes load(const std::uint8_t* x) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  }
  static void store(bytes x, std::uint8_t* target) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), x);
  }
  static bytes larger(bytes a, bytes b) { return _mm256_max_epu8(a, b); }
  static sums add(sums a, sums b) { return _mm256_add_epi32(a, b); }
  static sums larger_sums(sums a, sums b) { return _mm256_max_epi32(a, b); }
  static bytes broadcast(const std::uint8_t* x) {
    std::int32_t four = 0;
    std::memcpy(&four, x, 4);
    return _mm256_set1_epi32(four);
  }
  static bytes weights(const std::int8_t* w) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
  }
  static sums add_products(sums s, bytes x, bytes w) {
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0xFF)),
                                           _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
    return _mm256_add_epi32(s, _mm256_add_epi32(even, odd));
  }
  static void interleave(bytes a, bytes b, bytes c, bytes d, bytes* target) {
    const __m256i ab_low = _mm256_unpacklo_epi8(a, b);
    const __m256i ab_high = _mm256_unpackhi_epi8(a, b);
    const __m256i cd_low = _mm256_unpacklo_epi8(c, d);
    const __m256i cd_high = _mm256_unpackhi_epi8(c, d);
    target[0] = _mm256_unpacklo_epi16(ab_low, cd_low);
    target[1] = _mm256_unpackhi_epi16(ab_low, cd_low);
    target[2] = _mm256_unpacklo_epi16(ab_high, cd_high);
    target[3] = _mm256_unpackhi_epi16(ab_high, cd_high);
  }
  static __m256 scaled(sums s, const integer_products& panel, std::size_t first) {
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(s), _mm256_loadu_ps(panel.multipliers + first),
                           _mm256_loadu_ps(panel.shifts + first));
  }
  static void store_bytes(const sums* s, const integer_products& panel, std::uint8_t* target) {
    const __m256 high = _mm256_set1_ps(panel.high);
    const auto whole = [&](std::size_t v) {
      return _mm256_cvtps_epi32(_mm256_min_ps(scaled(s[v], panel, 8 * v), high));
    };
    const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(whole(0), whole(1)),
                                               _mm256_packs_epi32(whole(2), whole(3)));
    const __m256i lowest_byte = _mm256_set1_epi8(static_cast<char>(panel.lowest_byte));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm256_max_epu8(packed, lowest_byte));
  }
  static void store_few_bytes(const sums*, const integer_products&, std::uint8_t*) {}
  static void store_numbers(sums s, const integer_products& panel, std::size_t first,
                            std::size_t count, float* target) {
    const __m256 y =
        _mm256_min_ps(_mm256_max_ps(scaled(s, panel, first), _mm256_set1_ps(panel.low)),
                      _mm256_set1_ps(panel.high));
    if (count == 8) {
      _mm256_storeu_ps(target + first, y);
      return;
    }
    alignas(32) float numbers[8];
    _mm256_store_ps(numbers, y);
    std::memcpy(target + first, numbers, count * sizeof(float));
  }
  static void quantize(const float* x, const kernels::byte_range& range, float per_scale,
                       std::uint8_t* target) {
    const __m256 low = _mm256_set1_ps(static_cast<float>(range.minimum - range.zero));
    const __m256 high = _mm256_set1_ps(static_cast<float>(range.maximum - range.zero));
    const __m256i zero = _mm256_set1_epi32(range.zero);
    const auto whole = [&](std::size_t v) {
      const __m256 y = _mm256_mul_ps(_mm256_loadu_ps(x + 8 * v), _mm256_set1_ps(per_scale));
      // With this order of operations, NaN becomes low.
      const __m256 bounded = _mm256_min_ps(_mm256_max_ps(y, low), high);
      return _mm256_add_epi32(_mm256_cvtps_epi32(bounded), zero);
    };
    const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(whole(0), whole(1)),
                                               _mm256_packs_epi32(whole(2), whole(3)));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target),
                        _mm256_permutevar8x32_epi32(packed, order));
  }
};

using narrow_integer_registers = integer_registers;

#include "glia/backends/cpu/loops/integer_loops.inl"

inline constexpr std::size_t bytes_per_register = 32;

#include "glia/backends/cpu/loops/registers.inl"

/// The functions for which AVX2 has instructions that compilers do not find.
struct instructions : registers {
  using registers::append_nonzeros;
  using registers::copy_some;
  using registers::load_positions;
  using registers::square_roots;
  using registers::store_positions;
  using registers::transpose_tile;

  // The code names the instructions, because g++ 12 moves one element after the other.
  static void store_positions(const float_mask& source, std::uint8_t* target) {
    __m256i elements;
    __builtin_memcpy(&elements, &source, sizeof(elements));
    elements = _mm256_shuffle_epi8(elements, _mm256_set1_epi32(0x0C080400));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(target),
                     _mm_unpacklo_epi32(_mm256_castsi256_si128(elements),
                                        _mm256_extracti128_si256(elements, 1)));
  }
  static float_mask load_positions(const std::uint8_t* source, const float_mask& /*type*/) {
    float_mask result;
    const __m256i elements =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(source)));
    __builtin_memcpy(&result, &elements, sizeof(result));
    return result;
  }

  static void square_roots(float* x, std::size_t n) {
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      _mm256_storeu_ps(x + i, _mm256_sqrt_ps(_mm256_loadu_ps(x + i)));
    }
    for (; i < n; ++i) {
      x[i] = __builtin_sqrtf(x[i]);
    }
  }

  static void copy_some(const float* source, std::size_t count, float* target) {
    const __m256i elements = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), elements);
    _mm256_storeu_ps(target, _mm256_maskload_ps(source, mask));
  }

#include "glia/backends/cpu/isa/eight_floats.inl"

  // Computes Philox for 8 consecutive blocks together; core/random.hpp describes the algorithm.
  static void philox_blocks(const random_key& key, std::uint64_t first, std::uint32_t* words) {
    constexpr std::size_t blocks = 8;
    auto k0 = static_cast<std::uint32_t>(key.seed);
    auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
    // Each word is in the low half of a 64-bit element. The multiplication reads it there and
    // writes both halves of the product. Other contents of the high halves do not matter.
    constexpr std::size_t groups = blocks / 4;
    __m256i c0[groups];
    __m256i c1[groups];
    __m256i c2[groups];
    __m256i c3[groups];
    for (std::size_t g = 0; g < groups; ++g) {
      const std::uint64_t block = first + 4 * g;
      c0[g] = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(block)),
                               _mm256_setr_epi64x(0, 1, 2, 3));
      c1[g] = _mm256_srli_epi64(c0[g], 32);
      c2[g] = _mm256_set1_epi64x(key.stream);
      c3[g] = _mm256_set1_epi64x(key.step);
    }
    const __m256i m0 = _mm256_set1_epi64x(0xD2511F53);
    const __m256i m1 = _mm256_set1_epi64x(0xCD9E8D57);
    for (int round = 0; round < 10; ++round) {
      const __m256i key0 = _mm256_set1_epi64x(k0);
      const __m256i key1 = _mm256_set1_epi64x(k1);
#pragma GCC unroll 2
      for (std::size_t g = 0; g < groups; ++g) {
        const __m256i p0 = _mm256_mul_epu32(c0[g], m0);
        const __m256i p1 = _mm256_mul_epu32(c2[g], m1);
        c0[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[g]), key0);
        c2[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[g]), key1);
        c1[g] = p1;
        c3[g] = p0;
      }
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    for (std::size_t g = 0; g < groups; ++g) {
      const __m256i low = _mm256_blend_epi32(c0[g], _mm256_slli_epi64(c1[g], 32), 0xAA);
      const __m256i high = _mm256_blend_epi32(c2[g], _mm256_slli_epi64(c3[g], 32), 0xAA);
      const __m256i even = _mm256_unpacklo_epi64(low, high);
      const __m256i odd = _mm256_unpackhi_epi64(low, high);
      auto* target = reinterpret_cast<__m256i*>(words + 16 * g);
      _mm256_storeu_si256(target, _mm256_permute2x128_si256(even, odd, 0x20));
      _mm256_storeu_si256(target + 1, _mm256_permute2x128_si256(even, odd, 0x31));
    }
  }
};

#include "glia/backends/cpu/loops/vector_loops.inl"

}  // namespace glia::cpu_loops::avx2

#if defined(__clang__)
#pragma clang attribute pop
#endif
#include "glia/backends/cpu/isa/end.inl"
#endif
