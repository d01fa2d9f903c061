// Included inside the struct of one instruction set: products with a factor that has many zeros;
// see sparse_product.hpp.

// The number of vectors of sums that stay in registers.
static constexpr std::size_t max_sums = 8;

template <class T>
static std::size_t count_nonzeros(const T* x, std::size_t n) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    count += x[i] != 0 ? 1U : 0U;
  }
  return count;
}

// Lists the nonzeros of x[0] ... x[n - 1] with their indices, and returns their number. `entries`
// must have n elements.
template <class T>
static std::size_t list_nonzeros(const T* x, std::size_t n, nonzero<T>* entries) {
  std::size_t count = 0;
  std::size_t i = 0;
#if defined(GLIA_ISA_IS_AVX512)
  if constexpr (sizeof(T) == 4) {
    for (; i + 16 <= n; i += 16) {
      count += append_sixteen(x + i, i, entries + count);
    }
  }
#endif
  for (; i + 8 <= n; i += 8) {
    count += append_nonzeros(x + i, i, entries + count);
  }
  for (; i < n; ++i) {
    entries[count] = {x[i], static_cast<std::uint32_t>(i)};
    count += x[i] != 0 ? 1U : 0U;
  }
  return count;
}

// Lists the nonzeros of 8 columns of a matrix of n rows. The list of column j begins at entries + j
// * list_step.
template <class T>
static void list_nonzeros_of_columns(const T* x, std::size_t x_step, std::size_t n,
                                     nonzero<T>* entries, std::size_t list_step,
                                     std::size_t* counts) {
  for (std::size_t j = 0; j < 8; ++j) {
    counts[j] = 0;
  }
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    T tile[64];
    transpose_tile(x + i * x_step, x_step, tile, 8);
    for (std::size_t j = 0; j < 8; ++j) {
      counts[j] += append_nonzeros(tile + 8 * j, i, entries + j * list_step + counts[j]);
    }
  }
  for (; i < n; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      const T value = x[i * x_step + j];
      entries[j * list_step + counts[j]] = {value, static_cast<std::uint32_t>(i)};
      counts[j] += value != 0 ? 1U : 0U;
    }
  }
}

// Computes each row of c (rows, vectors * per_register) = or += the sum over its list's entries of
// value * row of b. The sums stay in registers. 1 <= vectors <= max_sums.
template <class T, std::size_t Vectors = max_sums>
static void multiply_nonzeros(const nonzero_lists<T>& lists, const T* b, std::size_t b_step, T* c,
                              std::size_t c_step, std::size_t vectors, bool add) {
  if constexpr (Vectors > 1) {
    if (vectors < Vectors) {
      return multiply_nonzeros<T, Vectors - 1>(lists, b, b_step, c, c_step, vectors, add);
    }
  }
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  constexpr std::size_t per_register = simd::count;
  for (std::size_t r = 0; r < lists.rows; ++r, c += c_step) {
    const nonzero<T>* entry = lists.entries + r * lists.list_step;
    std::size_t left = lists.counts[r];
    bool onto = add;
    do {
      const std::size_t count = left < product_chain ? left : product_chain;
      left -= count;
      vector sum[Vectors];
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        sum[v] = vector{};
      }
      for (const nonzero<T>* const last = entry + count; entry != last; ++entry) {
        const vector value = entry->value - vector{};
        const T* row = b + entry->index * b_step;
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
          sum[v] += value * simd::load(row + v * per_register);
        }
      }
      if (onto) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < Vectors; ++v) {
          sum[v] += simd::load(c + v * per_register);
        }
      }
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) {
        simd::store(sum[v], c + v * per_register);
      }
      onto = true;
    } while (left > 0);
  }
}

// Returns whether all elements in `rows` rows of `vectors` vectors are finite. For a finite
// element, the product with 0 is 0. 1 <= vectors <= max_sums.
template <class T, std::size_t Vectors = max_sums>
static bool all_finite_rows(const T* x, std::size_t x_step, std::size_t rows, std::size_t vectors) {
  if constexpr (Vectors > 1) {
    if (vectors < Vectors) {
      return all_finite_rows<T, Vectors - 1>(x, x_step, rows, vectors);
    }
  }
  using simd = simd_of<T>;
  using vector = typename simd::vector;
  vector zero[Vectors] = {};
  for (std::size_t i = 0; i < rows; ++i, x += x_step) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      zero[v] += simd::load(x + v * simd::count) * T(0);
    }
  }
  vector all{};
#pragma GCC unroll 8
  for (std::size_t v = 0; v < Vectors; ++v) {
    all += zero[v];
  }
  T sum{};
  for (std::size_t i = 0; i < simd::count; ++i) {
    sum += all[i];
  }
  return sum == 0;
}
template <class T>
static bool all_finite(const T* x, std::size_t n) {
  constexpr std::size_t step = max_sums * simd_of<T>::count;
  T zero{};
  for (std::size_t i = n / step * step; i < n; ++i) {
    zero += x[i] * T(0);
  }
  return zero == 0 && all_finite_rows(x, step, n / step, max_sums);
}

// Computes y (columns, rows), the transpose of x (rows, columns).
template <class T>
static void transpose_matrix(const T* x, std::size_t x_step, T* y, std::size_t y_step,
                             std::size_t rows, std::size_t columns) {
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8) {
    std::size_t j = 0;
    for (; j + 8 <= columns; j += 8) {
      transpose_tile(x + i * x_step + j, x_step, y + j * y_step + i, y_step);
    }
    for (; j < columns; ++j) {
      for (std::size_t k = 0; k < 8; ++k) {
        y[j * y_step + i + k] = x[(i + k) * x_step + j];
      }
    }
  }
  for (; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      y[j * y_step + i] = x[i * x_step + j];
    }
  }
}

// Appends the nonzeros among 8 values, without branches. A mask moves the nonzeros to the front,
// and all 8 elements are written. The caller advances by the number returned.
static std::size_t append_nonzeros(const float* x, std::size_t first, nonzero<float>* entries) {
#if defined(GLIA_ISA_IS_AVX2) || defined(GLIA_ISA_IS_AVX512)
  const __m256 values = _mm256_loadu_ps(x);
  const auto mask = static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_cmp_ps(values, _mm256_setzero_ps(), _CMP_NEQ_UQ)));
  // One byte per nonzero position, packed: the indices of the set bits.
  const std::uint64_t bytes = _pdep_u64(mask, 0x0101010101010101) * 0xFF;
  const std::uint64_t kept = _pext_u64(0x0706050403020100, bytes);
  const __m256i positions = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kept)));
  const __m256i packed = _mm256_castps_si256(_mm256_permutevar8x32_ps(values, positions));
  const __m256i indices = _mm256_add_epi32(positions, _mm256_set1_epi32(static_cast<int>(first)));
  const __m256i low = _mm256_unpacklo_epi32(packed, indices);
  const __m256i high = _mm256_unpackhi_epi32(packed, indices);
  auto* to = reinterpret_cast<__m256i*>(entries);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
  return static_cast<std::size_t>(__builtin_popcount(mask));
#else
  return append_nonzeros<float>(x, first, entries);
#endif
}
template <class T>
static std::size_t append_nonzeros(const T* x, std::size_t first, nonzero<T>* entries) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    entries[count] = {x[i], static_cast<std::uint32_t>(first + i)};
    count += x[i] != 0 ? 1U : 0U;
  }
  return count;
}

#if defined(GLIA_ISA_IS_AVX512)
// Appends the nonzeros among 16 values. A mask packs the nonzeros and their indices, which are then
// joined in pairs.
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
#endif

// Transposes an 8 x 8 tile: first pairs, then groups of four, then halves of rows change places.
static void transpose_tile(const float* x, std::size_t x_step, float* y, std::size_t y_step) {
#if defined(GLIA_ISA_IS_AVX2) || defined(GLIA_ISA_IS_AVX512)
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
#else
  transpose_tile<float>(x, x_step, y, y_step);
#endif
}
template <class T>
static void transpose_tile(const T* x, std::size_t x_step, T* y, std::size_t y_step) {
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      y[j * y_step + i] = x[i * x_step + j];
    }
  }
}
