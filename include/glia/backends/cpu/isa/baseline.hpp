#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "glia/backends/cpu/loops/integer_operands.hpp"
#include "glia/backends/cpu/loops/vector_operands.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace glia::cpu_loops::baseline {

/// Registers of 16 bytes in plain C++.
struct integer_registers {
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
  static void store(const bytes& x, std::uint8_t* target) { std::memcpy(target, x.data(), size); }
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
                         bytes* target) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::array<std::uint8_t, 4> four{a[i], b[i], c[i], d[i]};
      std::copy(four.begin(), four.end(), target[i / 4].begin() + i % 4 * 4);
    }
  }
  static void store_bytes(const sums* s, const integer_products& panel, std::uint8_t* target) {
    for (std::size_t channel = 0; channel < size; ++channel) {
      const std::size_t lane = packed_lane(channel, 4, 4);
      const float y = std::fma(static_cast<float>(s[lane / 4][lane % 4]), panel.multipliers[lane],
                               panel.shifts[lane]);
      const float bounded = std::clamp(y, static_cast<float>(panel.lowest_byte), panel.high);
      target[channel] = static_cast<std::uint8_t>(std::nearbyint(bounded));
    }
  }
  static void store_few_bytes(const sums*, const integer_products&, std::uint8_t*) {}
  static void store_numbers(const sums& s, const integer_products& panel, std::size_t first,
                            std::size_t count, float* target) {
    for (std::size_t e = 0; e < count; ++e) {
      const float y =
          std::fma(static_cast<float>(s[e]), panel.multipliers[first + e], panel.shifts[first + e]);
      target[first + e] = std::clamp(y, panel.low, panel.high);
    }
  }
  static void quantize(const float* x, const kernels::byte_range& range, float per_scale,
                       std::uint8_t* target) {
    for (std::size_t i = 0; i < size; ++i) {
      target[i] = quantized(x[i], range, per_scale);
    }
  }
};

}  // namespace glia::cpu_loops::baseline

#include "glia/backends/cpu/isa/begin.inl"

namespace glia::cpu_loops::baseline {

using narrow_integer_registers = integer_registers;

#include "glia/backends/cpu/loops/integer_loops.inl"

inline constexpr std::size_t bytes_per_register = 16;

#include "glia/backends/cpu/loops/registers.inl"

/// The functions that have no plain version in `registers`.
struct instructions : registers {
  using registers::square_roots;

  static void square_roots(float* x, std::size_t n) {
    std::size_t i = 0;
#if defined(__SSE2__)
    for (; i + 4 <= n; i += 4) {
      _mm_storeu_ps(x + i, _mm_sqrt_ps(_mm_loadu_ps(x + i)));
    }
#elif defined(__aarch64__)
    for (; i + 4 <= n; i += 4) {
      vst1q_f32(x + i, vsqrtq_f32(vld1q_f32(x + i)));
    }
#endif
    for (; i < n; ++i) {
      x[i] = __builtin_sqrtf(x[i]);
    }
  }

  // Computes Philox for 8 consecutive blocks together; core/random.hpp describes the algorithm.
  static void philox_blocks(const random_key& key, std::uint64_t first, std::uint32_t* words) {
    constexpr std::size_t blocks = 8;
    auto k0 = static_cast<std::uint32_t>(key.seed);
    auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
    std::uint32_t c0[blocks];
    std::uint32_t c1[blocks];
    std::uint32_t c2[blocks];
    std::uint32_t c3[blocks];
    for (std::size_t i = 0; i < blocks; ++i) {
      c0[i] = static_cast<std::uint32_t>(first + i);
      c1[i] = static_cast<std::uint32_t>((first + i) >> 32);
      c2[i] = key.stream;
      c3[i] = key.step;
    }
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < blocks; ++i) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0[i];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2[i];
        c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
        c1[i] = static_cast<std::uint32_t>(p1);
        c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
        c3[i] = static_cast<std::uint32_t>(p0);
      }
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    for (std::size_t i = 0; i < blocks; ++i) {
      words[4 * i] = c0[i];
      words[4 * i + 1] = c1[i];
      words[4 * i + 2] = c2[i];
      words[4 * i + 3] = c3[i];
    }
  }
};

#include "glia/backends/cpu/loops/vector_loops.inl"

}  // namespace glia::cpu_loops::baseline

#include "glia/backends/cpu/isa/end.inl"
