#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "glia/backends/cpu/isa/isa.hpp"
#include "glia/kernels/quantization.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The loops of quantized products are compiled once for each way in which processors multiply
// bytes: VNNI with registers of 64 and 32 bytes, AVX2 with products of 16-bit integers, and plain
// C++. All variants give the same sums, because they add integers.

namespace glia::cpu_loops {

/// The weights of one panel of outputs for products with patches of bytes, and the conversion of
/// sums to results: sum * multiplier + shift for each output, clamped to bounds.
struct integer_products {
  const std::uint32_t* offsets = nullptr;  ///< Offsets from a patch to each group of four bytes.
  std::size_t steps = 0;                   ///< Number of groups of four bytes.
  const std::int8_t* weights = nullptr;    ///< Weights of all outputs, for each group of four.
  std::size_t outputs = 0;                 ///< Number of outputs in this panel.
  const float* multipliers = nullptr;      ///< One per output, in the order of the weights.
  const float* shifts = nullptr;
  float low = 0;           ///< Lower bound of results of type float.
  float high = 0;          ///< Upper bound of all results.
  std::uint8_t least = 0;  ///< Lower bound of results that are bytes.
};

/// One row of outputs of a depthwise convolution for one panel of channels.
struct integer_window {
  const std::uint8_t* const* rows;  ///< Input rows of the window.
  std::size_t height;
  std::size_t width;
  std::size_t stride;
  std::size_t dilation;
  std::size_t columns;     ///< Number of outputs.
  std::size_t channels;    ///< Number of channels in the panel.
  std::size_t pixel_step;  ///< Distance between pixels, in bytes.
  std::size_t out_step;    ///< Distance between outputs.
  integer_products by;     ///< Four bytes per channel, for each group of four rows and each column.
};

/// Returns a number as a byte. The result is the same for every instruction set.
[[nodiscard]] inline std::uint8_t quantized(float x, const byte_range& range, float per_scale) {
  const float low = static_cast<float>(range.least) - static_cast<float>(range.zero);
  const float high = static_cast<float>(range.most) - static_cast<float>(range.zero);
  const float scaled = x * per_scale;
  const float bounded = scaled > low ? std::min(scaled, high) : low;  // NaN is low
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(bounded)) + range.zero);
}

/// Returns the position of a channel's sum in `vectors` vectors of `lanes` sums that are packed
/// into bytes. Packing takes four sums of each vector in turn.
[[nodiscard]] constexpr std::size_t packed_lane(std::size_t channel, std::size_t vectors,
                                                std::size_t lanes) {
  const std::size_t four = channel / 4;
  return four % vectors * lanes + four / vectors * 4 + channel % 4;
}

/// Registers of 16 bytes in plain C++.
struct plain_registers {
  static constexpr std::size_t size = 16;
  static constexpr std::size_t tile_pixels = 2;

  using sums = std::array<std::int32_t, 4>;
  using bytes = std::array<std::uint8_t, 16>;

  static sums no_sums() { return {}; }
  static bytes no_bytes() { return {}; }
  static bytes load(const std::uint8_t* x) {
    bytes result;
    std::memcpy(result.data(), x, size);
    return result;
  }
  static void store(const bytes& x, std::uint8_t* to) { std::memcpy(to, x.data(), size); }
  static sums add(sums a, const sums& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] += b[i];
    }
    return a;
  }
  static sums larger_sums(sums a, const sums& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = std::max(a[i], b[i]);
    }
    return a;
  }
  static bytes larger(bytes a, const bytes& b) {
    for (std::size_t i = 0; i < size; ++i) {
      a[i] = std::max(a[i], b[i]);
    }
    return a;
  }
  static bytes broadcast(const std::uint8_t* x) {
    bytes result;
    for (std::size_t i = 0; i < size; i += 4) {
      std::memcpy(result.data() + i, x, 4);
    }
    return result;
  }
  static bytes weights(const std::int8_t* w) {
    return load(reinterpret_cast<const std::uint8_t*>(w));
  }
  static sums add_products(sums s, const bytes& x, const bytes& w) {
    for (std::size_t i = 0; i < size; ++i) {
      s[i / 4] += static_cast<std::int32_t>(x[i]) * static_cast<std::int8_t>(w[i]);
    }
    return s;
  }
  static void interleave(const bytes& a, const bytes& b, const bytes& c, const bytes& d,
                         bytes* to) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::array<std::uint8_t, 4> four{a[i], b[i], c[i], d[i]};
      std::copy(four.begin(), four.end(), to[i / 4].begin() + i % 4 * 4);
    }
  }
  static void store_bytes(const sums* s, const integer_products& by, std::uint8_t* to) {
    for (std::size_t channel = 0; channel < size; ++channel) {
      const std::size_t at = packed_lane(channel, 4, 4);
      const float y =
          std::fma(static_cast<float>(s[at / 4][at % 4]), by.multipliers[at], by.shifts[at]);
      const float bounded = std::clamp(y, static_cast<float>(by.least), by.high);
      to[channel] = static_cast<std::uint8_t>(std::nearbyint(bounded));
    }
  }
  static void store_few_bytes(const sums*, const integer_products&, std::uint8_t*) {}
  static void store_numbers(const sums& s, const integer_products& by, std::size_t first,
                            std::size_t count, float* to) {
    for (std::size_t e = 0; e < count; ++e) {
      const float y =
          std::fma(static_cast<float>(s[e]), by.multipliers[first + e], by.shifts[first + e]);
      to[first + e] = std::clamp(y, by.low, by.high);
    }
  }
  static void quantize(const float* x, const byte_range& range, float per_scale, std::uint8_t* to) {
    for (std::size_t i = 0; i < size; ++i) {
      to[i] = quantized(x[i], range, per_scale);
    }
  }
};

}  // namespace glia::cpu_loops

#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

namespace glia::cpu_loops {

#define GLIA_INTEGER_ISA plain_integer_loops
#define GLIA_INTEGER_REGISTERS plain_registers
#define GLIA_INTEGER_NARROW_REGISTERS plain_registers
#include "glia/backends/cpu/loops/integer_loops.inl"
#undef GLIA_INTEGER_ISA
#undef GLIA_INTEGER_REGISTERS
#undef GLIA_INTEGER_NARROW_REGISTERS

}  // namespace glia::cpu_loops

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2")
#endif

namespace glia::cpu_loops {

/// Registers of 32 bytes. Products of bytes use 16-bit integers, because the instruction that adds
/// pairs of byte products would overflow.
struct avx2_registers {
  static constexpr std::size_t size = 32;
  static constexpr std::size_t tile_pixels = 2;

  using sums = __m256i;
  using bytes = __m256i;

  static sums no_sums() { return _mm256_setzero_si256(); }
  static bytes no_bytes() { return _mm256_setzero_si256(); }
  static bytes load(const std::uint8_t* x) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  }
  static void store(bytes x, std::uint8_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
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
  static void interleave(bytes a, bytes b, bytes c, bytes d, bytes* to) {
    const __m256i ab_low = _mm256_unpacklo_epi8(a, b);
    const __m256i ab_high = _mm256_unpackhi_epi8(a, b);
    const __m256i cd_low = _mm256_unpacklo_epi8(c, d);
    const __m256i cd_high = _mm256_unpackhi_epi8(c, d);
    to[0] = _mm256_unpacklo_epi16(ab_low, cd_low);
    to[1] = _mm256_unpackhi_epi16(ab_low, cd_low);
    to[2] = _mm256_unpacklo_epi16(ab_high, cd_high);
    to[3] = _mm256_unpackhi_epi16(ab_high, cd_high);
  }
  static __m256 scaled(sums s, const integer_products& by, std::size_t first) {
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(s), _mm256_loadu_ps(by.multipliers + first),
                           _mm256_loadu_ps(by.shifts + first));
  }
  static void store_bytes(const sums* s, const integer_products& by, std::uint8_t* to) {
    const __m256 high = _mm256_set1_ps(by.high);
    const auto whole = [&](std::size_t v) {
      return _mm256_cvtps_epi32(_mm256_min_ps(scaled(s[v], by, 8 * v), high));
    };
    const __m256i all = _mm256_packus_epi16(_mm256_packs_epi32(whole(0), whole(1)),
                                            _mm256_packs_epi32(whole(2), whole(3)));
    const __m256i least = _mm256_set1_epi8(static_cast<char>(by.least));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_max_epu8(all, least));
  }
  static void store_few_bytes(const sums*, const integer_products&, std::uint8_t*) {}
  static void store_numbers(sums s, const integer_products& by, std::size_t first,
                            std::size_t count, float* to) {
    const __m256 y = _mm256_min_ps(_mm256_max_ps(scaled(s, by, first), _mm256_set1_ps(by.low)),
                                   _mm256_set1_ps(by.high));
    if (count == 8) {
      _mm256_storeu_ps(to + first, y);
      return;
    }
    alignas(32) float all[8];
    _mm256_store_ps(all, y);
    std::memcpy(to + first, all, count * sizeof(float));
  }
  static void quantize(const float* x, const byte_range& range, float per_scale, std::uint8_t* to) {
    const __m256 low = _mm256_set1_ps(static_cast<float>(range.least - range.zero));
    const __m256 high = _mm256_set1_ps(static_cast<float>(range.most - range.zero));
    const __m256i zero = _mm256_set1_epi32(range.zero);
    const auto whole = [&](std::size_t v) {
      const __m256 y = _mm256_mul_ps(_mm256_loadu_ps(x + 8 * v), _mm256_set1_ps(per_scale));
      // With this order of operations, NaN becomes low.
      const __m256 bounded = _mm256_min_ps(_mm256_max_ps(y, low), high);
      return _mm256_add_epi32(_mm256_cvtps_epi32(bounded), zero);
    };
    const __m256i all = _mm256_packus_epi16(_mm256_packs_epi32(whole(0), whole(1)),
                                            _mm256_packs_epi32(whole(2), whole(3)));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(all, order));
  }
};

#define GLIA_INTEGER_ISA avx2_integer_loops
#define GLIA_INTEGER_REGISTERS avx2_registers
#define GLIA_INTEGER_NARROW_REGISTERS avx2_registers
#include "glia/backends/cpu/loops/integer_loops.inl"
#undef GLIA_INTEGER_ISA
#undef GLIA_INTEGER_REGISTERS
#undef GLIA_INTEGER_NARROW_REGISTERS

}  // namespace glia::cpu_loops

#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(                                                               \
    __attribute__((target("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif

namespace glia::cpu_loops {

/// Returns s plus the products of four bytes in each element. It names the instruction because g++
/// 12 moves sums to memory and back around the intrinsic.
template <class Register>
[[gnu::always_inline]] inline Register added_products(Register s, Register x, Register w) {
  asm("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(x), "vm"(w));
  return s;
}

/// Registers of 64 bytes with an instruction for products of bytes.
struct vnni_registers {
  static constexpr std::size_t size = 64;
  static constexpr std::size_t tile_pixels = 6;
  static constexpr __mmask16 every = 0xFFFF;  // avoids false warnings of g++ 12

  using sums = __m512i;
  using bytes = __m512i;

  static sums no_sums() { return _mm512_setzero_si512(); }
  static bytes no_bytes() { return _mm512_setzero_si512(); }
  static bytes load(const std::uint8_t* x) { return _mm512_loadu_si512(x); }
  static void store(bytes x, std::uint8_t* to) { _mm512_storeu_si512(to, x); }
  static bytes larger(bytes a, bytes b) { return _mm512_max_epu8(a, b); }
  static sums add(sums a, sums b) { return _mm512_add_epi32(a, b); }
  static sums larger_sums(sums a, sums b) { return _mm512_maskz_max_epi32(every, a, b); }
  static bytes broadcast(const std::uint8_t* x) {
    std::int32_t four = 0;
    std::memcpy(&four, x, 4);
    return _mm512_set1_epi32(four);
  }
  static bytes weights(const std::int8_t* w) { return _mm512_loadu_si512(w); }
  static sums add_products(sums s, bytes x, bytes w) { return added_products(s, x, w); }
  static void interleave(bytes a, bytes b, bytes c, bytes d, bytes* to) {
    const __m512i ab_low = _mm512_unpacklo_epi8(a, b);
    const __m512i ab_high = _mm512_unpackhi_epi8(a, b);
    const __m512i cd_low = _mm512_unpacklo_epi8(c, d);
    const __m512i cd_high = _mm512_unpackhi_epi8(c, d);
    to[0] = _mm512_unpacklo_epi16(ab_low, cd_low);
    to[1] = _mm512_unpackhi_epi16(ab_low, cd_low);
    to[2] = _mm512_unpacklo_epi16(ab_high, cd_high);
    to[3] = _mm512_unpackhi_epi16(ab_high, cd_high);
  }
  static __m512 scaled(sums s, const integer_products& by, std::size_t first) {
    return _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(every, s),
                           _mm512_loadu_ps(by.multipliers + first),
                           _mm512_loadu_ps(by.shifts + first));
  }
  static void store_bytes(const sums* s, const integer_products& by, std::uint8_t* to) {
    const __m512 high = _mm512_set1_ps(by.high);
    const auto whole = [&](std::size_t v) {
      return _mm512_maskz_cvtps_epi32(every,
                                      _mm512_maskz_min_ps(every, scaled(s[v], by, 16 * v), high));
    };
    const __m512i all = _mm512_packus_epi16(_mm512_packs_epi32(whole(0), whole(1)),
                                            _mm512_packs_epi32(whole(2), whole(3)));
    const __m512i least = _mm512_set1_epi8(static_cast<char>(by.least));
    _mm512_storeu_si512(to, _mm512_max_epu8(all, least));
  }
  /// Stores the results of two vectors as bytes.
  static void store_few_bytes(const sums* s, const integer_products& by, std::uint8_t* to) {
    const __m512 high = _mm512_set1_ps(by.high);
    const auto whole = [&](std::size_t v) {
      return _mm512_maskz_cvtps_epi32(every,
                                      _mm512_maskz_min_ps(every, scaled(s[v], by, 16 * v), high));
    };
    const __m512i all =
        _mm512_max_epi16(_mm512_packs_epi32(whole(0), whole(1)), _mm512_set1_epi16(by.least));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_maskz_cvtepi16_epi8(0xFFFFFFFF, all));
  }
  static void store_numbers(sums s, const integer_products& by, std::size_t first,
                            std::size_t count, float* to) {
    const __m512 y = _mm512_maskz_min_ps(
        every, _mm512_maskz_max_ps(every, scaled(s, by, first), _mm512_set1_ps(by.low)),
        _mm512_set1_ps(by.high));
    _mm512_mask_storeu_ps(to + first, static_cast<__mmask16>((1U << count) - 1), y);
  }
  static void quantize(const float* x, const byte_range& range, float per_scale, std::uint8_t* to) {
    const __m512 low = _mm512_set1_ps(static_cast<float>(range.least - range.zero));
    const __m512 high = _mm512_set1_ps(static_cast<float>(range.most - range.zero));
    const __m512i zero = _mm512_set1_epi32(range.zero);
    for (std::size_t v = 0; v < 4; ++v) {
      const __m512 y = _mm512_mul_ps(_mm512_loadu_ps(x + 16 * v), _mm512_set1_ps(per_scale));
      const __m512 bounded = _mm512_maskz_min_ps(every, _mm512_maskz_max_ps(every, y, low), high);
      const __m512i whole = _mm512_add_epi32(_mm512_maskz_cvtps_epi32(every, bounded), zero);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16 * v),
                       _mm512_maskz_cvtepi32_epi8(every, whole));
    }
  }
};

/// The lower halves of the VNNI registers.
struct narrow_vnni_registers : avx2_registers {
  static constexpr std::size_t tile_pixels = 6;

  static sums add_products(sums s, bytes x, bytes w) { return added_products(s, x, w); }
};

#define GLIA_INTEGER_ISA vnni_integer_loops
#define GLIA_INTEGER_REGISTERS vnni_registers
#define GLIA_INTEGER_NARROW_REGISTERS narrow_vnni_registers
#include "glia/backends/cpu/loops/integer_loops.inl"
#undef GLIA_INTEGER_ISA
#undef GLIA_INTEGER_REGISTERS
#undef GLIA_INTEGER_NARROW_REGISTERS

}  // namespace glia::cpu_loops

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif

#if !defined(__clang__)
#pragma GCC pop_options
#endif

namespace glia::cpu_loops {

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
    return body(vnni_integer_loops{});
  }
  if (level >= isa::avx2) {
    return body(avx2_integer_loops{});
  }
#endif
  static_cast<void>(level);
  return body(plain_integer_loops{});
}

}  // namespace glia::cpu_loops
