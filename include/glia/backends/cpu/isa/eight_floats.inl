// Included in the structs of AVX2 and AVX-512: functions of registers of eight floats.

// A mask moves the nonzeros to the front.
static std::size_t append_nonzeros(const float* x, std::size_t first, nonzero<float>* entries) {
  const __m256 values = _mm256_loadu_ps(x);
  const auto mask = static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_cmp_ps(values, _mm256_setzero_ps(), _CMP_NEQ_UQ)));
  // One byte per nonzero position, packed: the indices of the set bits.
  const std::uint64_t bytes = _pdep_u64(mask, 0x0101010101010101) * 0xFF;
  const std::uint64_t order = _pext_u64(0x0706050403020100, bytes);
  const __m256i positions = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(order)));
  const __m256i packed = _mm256_castps_si256(_mm256_permutevar8x32_ps(values, positions));
  const __m256i indices = _mm256_add_epi32(positions, _mm256_set1_epi32(static_cast<int>(first)));
  const __m256i low = _mm256_unpacklo_epi32(packed, indices);
  const __m256i high = _mm256_unpackhi_epi32(packed, indices);
  auto* target = reinterpret_cast<__m256i*>(entries);
  _mm256_storeu_si256(target, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(target + 1, _mm256_permute2x128_si256(low, high, 0x31));
  return static_cast<std::size_t>(__builtin_popcount(mask));
}

// First pairs, then groups of four, then halves of rows change places.
static void transpose_tile(const float* x, std::size_t x_step, float* y, std::size_t y_step) {
  __m256 r[8];
  __m256 t[8];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 8; ++i) {
    r[i] = _mm256_loadu_ps(x + i * x_step);
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (std::size_t i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    _mm256_storeu_ps(y + i * y_step, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(y + (i + 4) * y_step, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
