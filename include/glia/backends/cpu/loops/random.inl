// Included by vector_loops.inl inside the struct of one instruction set: random numbers and
// dropout.

template <class T>
static void dropout(const T* x, T* y, std::size_t n, double rate, const random_key& key,
                    std::uint64_t offset) {
  constexpr std::size_t blocks = 8;
  constexpr std::size_t halves_per_block = 8;
  const T scale = static_cast<T>(1 / (1 - rate));
  // half word * 2^-16 >= rate, in integers
  const double bound = __builtin_ceil(rate * 0x1p16);
  const auto threshold = static_cast<std::uint32_t>(bound);
  std::size_t done = 0;
  while (done < n) {
    const std::uint64_t first = offset + done;
    std::uint32_t words[4 * blocks];
    std::uint16_t halves[blocks * halves_per_block];
    philox_blocks(key, first / halves_per_block, words);
    __builtin_memcpy(halves, words, sizeof(halves));
    const std::size_t skip = first % halves_per_block;
    const std::size_t room = blocks * halves_per_block - skip;
    const std::size_t count = n - done < room ? n - done : room;
    const T* from = x + done;
    T* to = y + done;
    const std::uint16_t* half = halves + skip;
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
      const T kept = from[i] * scale;
      to[i] = half[i] >= threshold ? kept : T(0);
    }
    done += count;
  }
}

// Computes noise[i] from words[i] for the first n elements; see normal_of in core/random.hpp.
template <class T, std::size_t N>
static void normal_of(const std::uint32_t (&words)[N], T (&noise)[N], std::size_t n) {
  namespace coefficients = inverse_error_function;
  T uniform[N];
  T w[N];
  T roots[N];
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t odd = 2 * static_cast<std::int32_t>(words[i] >> 8) + 1 - (1 << 24);
    uniform[i] = static_cast<T>(odd) * T(0x1p-24);
    w[i] = -log_of((1 - uniform[i]) * (1 + uniform[i]));
    roots[i] = w[i];
  }
  square_roots(roots, n);
  GLIA_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    T near = 0;
    T far = 0;
    for (std::size_t c = 0; c < coefficients::near.size(); ++c) {
      near = near * (w[i] - T(2.5)) + static_cast<T>(coefficients::near[c]);
      far = far * (roots[i] - 3) + static_cast<T>(coefficients::far[c]);
    }
    noise[i] = static_cast<T>(std::numbers::sqrt2) * (w[i] < 5 ? near : far) * uniform[i];
  }
}

template <class T>
static void gaussian_noise(const T* x, T* y, std::size_t n, double deviation, const random_key& key,
                           std::uint64_t offset) {
  constexpr std::size_t blocks = 8;
  constexpr std::size_t words_per_block = 4;
  const auto factor = static_cast<T>(deviation);
  std::size_t done = 0;
  while (done < n) {
    const std::uint64_t first = offset + done;
    std::uint32_t words[words_per_block * blocks];
    philox_blocks(key, first / words_per_block, words);
    const std::size_t skip = first % words_per_block;
    const std::size_t room = words_per_block * blocks - skip;
    const std::size_t count = n - done < room ? n - done : room;
    T noise[words_per_block * blocks];
    normal_of(words, noise, skip + count);
    const T* from = x + done;
    T* to = y + done;
    GLIA_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = from[i] + factor * noise[skip + i];
    }
    done += count;
  }
}

// Computes Philox for 8 consecutive blocks together; core/random.hpp describes the algorithm.
static void philox_blocks(const random_key& key, std::uint64_t first, std::uint32_t* words) {
  [[maybe_unused]] constexpr std::size_t blocks = 8;
  auto k0 = static_cast<std::uint32_t>(key.seed);
  auto k1 = static_cast<std::uint32_t>(key.seed >> 32);
#if defined(GLIA_ISA_IS_AVX512)
  // As with AVX2 below, all blocks are computed together.
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
  const __m512i front = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i back = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  _mm512_storeu_si512(words, _mm512_permutex2var_epi64(low, front, high));
  _mm512_storeu_si512(words + 16, _mm512_permutex2var_epi64(low, back, high));
#elif defined(GLIA_ISA_IS_AVX2)
  // Each word is in the low half of a 64-bit element. The multiplication reads it there and writes
  // both halves of the product. Other contents of the high halves do not matter.
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
    auto* to = reinterpret_cast<__m256i*>(words + 16 * g);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
#else
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
#endif
}
