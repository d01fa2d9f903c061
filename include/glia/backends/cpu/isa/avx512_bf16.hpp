#pragma once

#include "glia/backends/cpu/isa/avx512.hpp"

#if defined(__x86_64__)
#include "glia/backends/cpu/isa/begin.inl"
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
// As registers.inl. GCC inlines functions only into functions with the same options.
#pragma GCC optimize("no-trapping-math")
#endif

namespace glia::cpu_loops::avx512_bf16 {

/// The loops of AVX-512 with instructions for products in bfloat16. Such an instruction adds two
/// products to each of 16 sums: first the product of the upper halves of two words, then the
/// product of the lower halves, each sum rounded. So the upper half has the first factor. (The
/// masks that keep every element silence false warnings of g++ 12.)
struct vector_loops : avx512::vector_loops {
  static constexpr std::size_t factors_per_word = 2;

  static void round_row(const float* x, std::size_t n, float* words) {
    for (; n >= 32; n -= 32, x += 32, words += 16) {
      store_words(in_order(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16)), 0xFFFF, words);
    }
    if (n > 0) {
      const std::uint32_t mask = (1U << n) - 1;
      const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), x);
      const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16U), x + 16);
      store_words(in_order(low, high), static_cast<__mmask16>((1U << (n + 1) / 2) - 1), words);
    }
  }

  static void round_rows(const float* x, std::size_t x_step, std::size_t depth, std::size_t columns,
                         float* words, std::size_t words_step) {
    for (std::size_t k = 0; k < depth; k += 2, x += 2 * x_step, words += words_step) {
      for (std::size_t j = 0; j < columns; j += 16) {
        const auto mask =
            static_cast<__mmask16>(columns - j < 16 ? (1U << (columns - j)) - 1 : 0xFFFFU);
        const __m512 first = _mm512_maskz_loadu_ps(mask, x + j);
        const __m512 second =
            k + 1 < depth ? _mm512_maskz_loadu_ps(mask, x + x_step + j) : _mm512_setzero_ps();
        store_words(interleaved(first, second), 0xFFFF, words + j);
      }
    }
  }

  // Registers of words.
  template <class T>
  struct simd_of : registers::simd_of<T> {
    using vector = typename registers::simd_of<T>::vector;

    static vector spread(const T& word) {
      std::int32_t bits = 0;
      __builtin_memcpy(&bits, &word, sizeof(bits));
      return vector(_mm512_set1_epi32(bits));
    }
    static vector add_product(const vector& sum, const vector& a, const vector& b) {
      __m512bh left;
      __m512bh right;
      __builtin_memcpy(&left, &a, sizeof(left));
      __builtin_memcpy(&right, &b, sizeof(right));
      return vector(_mm512_dpbf16_ps(__m512(sum), left, right));
    }
  };

#include "glia/backends/cpu/loops/convolution.inl"
#include "glia/backends/cpu/loops/product.inl"

 private:
  /// Rounds 32 numbers. Their order stays.
  [[gnu::always_inline]] static __m512i rounded(const __m512& low, const __m512& high) {
    const __m512bh numbers = _mm512_cvtne2ps_pbh(high, low);
    __m512i result;
    __builtin_memcpy(&result, &numbers, sizeof(result));
    return result;
  }
  /// Returns words of consecutive numbers.
  [[gnu::always_inline]] static __m512i in_order(const __m512& low, const __m512& high) {
    return _mm512_maskz_rol_epi32(0xFFFF, rounded(low, high), 16);
  }
  /// Returns words of one number from each register.
  [[gnu::always_inline]] static __m512i interleaved(const __m512& first, const __m512& second) {
    alignas(64) static constexpr std::uint16_t order[32] = {
        0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
        8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_maskz_permutexvar_epi16(0xFFFFFFFF, _mm512_load_si512(order),
                                          rounded(second, first));
  }
  [[gnu::always_inline]] static void store_words(const __m512i& words, __mmask16 mask,
                                                 float* target) {
    _mm512_mask_storeu_epi32(target, mask, words);
  }
};

}  // namespace glia::cpu_loops::avx512_bf16

#if defined(__clang__)
#pragma clang attribute pop
#endif
#include "glia/backends/cpu/isa/end.inl"
#endif
